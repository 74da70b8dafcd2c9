// Reading whole files, and writing files so that nobody ever sees half of one.
//
// Temporary names are kept in a fixed table of plain bytes: a signal handler can walk it whatever the
// rest of the process was doing.
#include "base/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

char *orr_read_file(const char *path, size_t limit, size_t *size, orr_err *e) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        orr_fail(e, ORR_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    struct stat st;
    size_t n = 0, cap = 4096;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        if ((uintmax_t)st.st_size > limit) goto too_large;
        cap = (size_t)st.st_size + 1; // one more, so that the end is seen without growing
    }
    char *s = orr_malloc(cap + 1);
    for (;;) { // not trusting st_size: pipes have none, and files grow
        if (n == cap) s = orr_realloc(s, (cap *= 2) + 1);
        ssize_t got = read(fd, s + n, cap - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            orr_fail(e, ORR_BAD_INPUT, "%s: cannot read: %s", path, strerror(errno));
            free(s);
            close(fd);
            return NULL;
        }
        if (got == 0) break;
        n += (size_t)got;
        if (n > limit) {
            free(s);
            goto too_large;
        }
    }
    close(fd);
    s[n] = 0;
    if (size) *size = n;
    return s;
too_large:
    close(fd);
    orr_fail(e, ORR_BAD_INPUT, "%s: larger than the limit of %zu bytes", path, limit);
    return NULL;
}

// ---- atomic output --------------------------------------------------------------------------
enum { FREE, CLAIMED, LIVE };
static struct {
    atomic_int state;
    atomic_bool folder;
    char name[PATH_MAX];
} temps[32];

static int remember(const char *name, bool folder) { // -1: the table is full or the name too long
    if (strlen(name) >= sizeof temps[0].name) return -1;
    for (int i = 0; i < (int)(sizeof temps / sizeof temps[0]); i++) {
        int was = FREE;
        if (!atomic_compare_exchange_strong(&temps[i].state, &was, CLAIMED)) continue;
        strcpy(temps[i].name, name);
        atomic_store(&temps[i].folder, folder);
        atomic_store(&temps[i].state, LIVE);
        return i;
    }
    return -1;
}

static void forget(const char *name) {
    for (int i = 0; i < (int)(sizeof temps / sizeof temps[0]); i++)
        if (atomic_load(&temps[i].state) == LIVE && strcmp(temps[i].name, name) == 0) {
            atomic_store(&temps[i].state, FREE);
            return;
        }
}

// A folder and the files in it, by system calls alone: opendir allocates, which a signal handler must not.
static void remove_folder(const char *name) {
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    _Alignas(8) char buf[4096];
    bool some = true;
    while (some) { // what is removed moves what comes after it: from the start until nothing goes any more
        some = false;
        lseek(fd, 0, SEEK_SET);
        for (long n; (n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0;)
            for (long at = 0; at < n;) { // d_ino 8 bytes, d_off 8, d_reclen 2, d_type 1, d_name
                uint16_t length;
                memcpy(&length, buf + at + 16, sizeof length);
                const char *entry = buf + at + 19;
                if (unlinkat(fd, entry, 0) == 0) some = true;
                at += length;
            }
    }
    close(fd);
    rmdir(name);
}

bool orr_temp_folder(char path[4096], const char *what, orr_err *e) {
    const char *tmp = getenv("TMPDIR");
    snprintf(path, 4096, "%s/orrery-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", what);
    if (!mkdtemp(path)) return orr_fail(e, ORR_BAD_INPUT, "%s: %s", path, strerror(errno));
    remember(path, true); // if there is no room in the table a signal leaves it behind
    return true;
}

void orr_temp_folder_end(const char *path) {
    remove_folder(path);
    forget(path);
}

void orr_out_abort_all(void) {
    for (int i = 0; i < (int)(sizeof temps / sizeof temps[0]); i++)
        if (atomic_load(&temps[i].state) == LIVE) {
            if (atomic_load(&temps[i].folder))
                remove_folder(temps[i].name);
            else
                unlink(temps[i].name);
        }
}

bool orr_out_open(orr_out *o, const char *path, orr_err *e) {
    static atomic_int serial;
    *o = (orr_out){0};
    if (!*path) return orr_fail(e, ORR_BAD_INPUT, "the name of the file to write is empty");
    struct stat st;
    bool exists = stat(path, &st) == 0;
    // What a symbolic link points to is replaced, not the link; a device or a pipe is written as it is.
    o->path = exists && S_ISREG(st.st_mode) ? realpath(path, NULL) : strdup(path);
    if (!o->path) return orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", path, strerror(errno));
    int fd;
    if (exists && !S_ISREG(st.st_mode)) {
        fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        orr_text name = {0};
        orr_text_add(&name, "%s.%d-%d.tmp", o->path, (int)getpid(), atomic_fetch_add(&serial, 1));
        o->temp = name.s;
        if (remember(o->temp, false) < 0) { // before it exists, so that no signal finds it unknown
            errno = strlen(o->temp) >= PATH_MAX ? ENAMETOOLONG : EMFILE;
            fd = -1;
        } else {
            fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (fd < 0) forget(o->temp);
        }
    }
    o->f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (o->f) return true;
    orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    orr_out_abort(o);
    return false;
}

bool orr_out_commit(orr_out *o, orr_err *e) {
    // A full disk may show at any of these. fsync is refused by pipes and devices; that is no error.
    bool bad = fflush(o->f) != 0 || ferror(o->f);
    if (!bad && o->temp && fsync(fileno(o->f)) != 0 && errno != EINVAL && errno != EROFS) bad = true;
    int why = errno;
    if (fclose(o->f) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    o->f = NULL;
    if (!bad && o->temp && rename(o->temp, o->path) != 0) {
        bad = true;
        why = errno;
    }
    if (bad) {
        orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", o->path, strerror(why));
        orr_out_abort(o);
        return false;
    }
    if (o->temp) forget(o->temp);
    free(o->temp);
    free(o->path);
    *o = (orr_out){0};
    return true;
}

void orr_out_abort(orr_out *o) {
    if (o->f) fclose(o->f);
    if (o->temp) {
        unlink(o->temp);
        forget(o->temp);
    }
    free(o->temp);
    free(o->path);
    *o = (orr_out){0};
}

// ---- a folder of files ------------------------------------------------------------------------

char *orr_out_folder(const char *path, bool (*ours)(const char *name), orr_err *e) {
    static atomic_int serial;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (!n) {
        orr_fail(e, ORR_BAD_INPUT, "the name of the folder to write is empty");
        return NULL;
    }
    struct stat st;
    if (lstat(path, &st) == 0) {
        DIR *d = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
        if (!d) {
            orr_fail(e, ORR_BAD_INPUT, "%s: %s; name another folder", path,
                     S_ISDIR(st.st_mode) ? strerror(errno) : "is there already, and is not a folder");
            return NULL;
        }
        for (const struct dirent *f; (f = readdir(d));)
            if (strcmp(f->d_name, ".") && strcmp(f->d_name, "..") && !ours(f->d_name)) {
                orr_fail(e, ORR_BAD_INPUT, "%s: holds other things (%.60s); name an empty or a new folder",
                         path, f->d_name);
                break;
            }
        closedir(d);
        if (e->status) return NULL;
    }
    orr_text name = {0};
    orr_text_add(&name, "%.*s.%d-%d.tmp", (int)n, path, (int)getpid(), atomic_fetch_add(&serial, 1));
    int why = remember(name.s, true) < 0 ? (strlen(name.s) >= PATH_MAX ? ENAMETOOLONG : EMFILE) : 0;
    if (!why && mkdir(name.s, 0777) != 0) {
        why = errno;
        forget(name.s);
    }
    if (!why) return name.s;
    orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", path, strerror(why));
    free(name.s);
    return NULL;
}

bool orr_out_folder_end(char *temp, const char *path, bool commit, orr_err *e) {
    bool ok = true;
    if (commit && rename(temp, path) != 0) { // works for a new and for an empty one
        orr_text old = {0};
        orr_text_add(&old, "%s.old", temp);
        ok = (errno == ENOTEMPTY || errno == EEXIST) && rename(path, old.s) == 0;
        if (ok && rename(temp, path) != 0) { // put it back
            ok = false;
            (void)!rename(old.s, path);
        }
        int why = errno;
        if (ok)
            remove_folder(old.s);
        else
            orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", path, strerror(why));
        free(old.s);
    }
    if (!commit || !ok) remove_folder(temp);
    forget(temp);
    free(temp);
    return ok;
}
