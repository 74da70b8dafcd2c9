// Reading a capture (capture.h). Every number of a file is checked before it is used: offsets against the
// file, sizes against their limits, addresses against their ends, contents against their hash.
#include "capture/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef ORRERY_HAVE_ZSTD
#include <zstd.h>
#endif

#define MAX_META    (64u << 20)
#define MAX_PARAMS  (1u << 16)
#define MAX_REGIONS (1u << 20)
#define MAX_ADDRESS (1ull << 57) // as far as any GPU's addresses go

// ---- META ---------------------------------------------------------------------------------------------
static bool bad(const orr_captured *c, const char *line, orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT, "%s: \"%.60s\" is not as a capture has it", c->path, line);
}

static bool three(const char *text, uint32_t to[3]) {
    char end;
    return sscanf(text, "%9" SCNu32 " %9" SCNu32 " %9" SCNu32 "%c", &to[0], &to[1], &to[2], &end) == 3;
}

static bool add_region(orr_captured *c, const char *text, bool symbol) {
    uint64_t addr, bytes;
    int used = 0;
    if (sscanf(text, "%16" SCNx64 " %20" SCNu64 "%n", &addr, &bytes, &used) != 2) return false;
    if (!addr || !bytes || addr > MAX_ADDRESS || bytes > MAX_ADDRESS - addr) return false;
    if (c->regions.n >= MAX_REGIONS || (symbol ? text[used] != ' ' : text[used] != 0)) return false;
    orr_captured_region *r = ORR_PUSH(&c->regions);
    r->addr = addr;
    r->bytes = bytes;
    if (symbol) r->symbol = text + used + 1;
    return true;
}

static bool add_texture(orr_captured *c, const char *text) {
    orr_captured_texture t = {0};
    int used = 0, more = 0;
    if (sscanf(text, "%16" SCNx64 " %16" SCNx64 "%n", &t.handle, &t.addr, &used) != 2) return false;
    if (!t.addr || t.addr > MAX_ADDRESS || c->textures.n >= MAX_REGIONS) return false;
    for (int i = 0; i < ORR_CAPTURED_NUMBERS; i++, used += more)
        if (sscanf(text + used, " %10" SCNu32 "%n", &t.n[i], &more) != 1) return false;
    if (text[used]) return false;
    *ORR_PUSH(&c->textures) = t;
    return true;
}

static bool take_fact(orr_captured *c, const char *name, const char *value) {
    char end;
    unsigned flag;
    if (!strcmp(name, "kernel")) return *(c->kernel = value) != 0;
    if (!strcmp(name, "range")) return *(c->range = value) != 0;
    if (!strcmp(name, "incomplete")) {
        if (!strncmp(value, "like ", 5) && sscanf(value + 5, "%9" SCNd64 "%c", &c->like, &end) != 1)
            return false;
        return *(c->incomplete = value) != 0;
    }
    if (!strcmp(name, "module")) return sscanf(value, "%16" SCNx64 "%c", &c->module, &end) == 1;
    if (!strcmp(name, "index")) return sscanf(value, "%9" SCNu32 "%c", &c->index, &end) == 1;
    if (!strcmp(name, "number")) return sscanf(value, "%9" SCNu32 "%c", &c->number, &end) == 1;
    if (!strcmp(name, "shared")) return sscanf(value, "%9" SCNu32 "%c", &c->shared, &end) == 1;
    if (!strcmp(name, "grid")) return three(value, c->grid);
    if (!strcmp(name, "block")) return three(value, c->block);
    if (!strcmp(name, "cluster")) return three(value, c->cluster);
    if (!strcmp(name, "region")) return add_region(c, value, false);
    if (!strcmp(name, "symbol")) return add_region(c, value, true);
    if (!strcmp(name, "texture")) return add_texture(c, value);
    if (strcmp(name, "cooperative") != 0 || sscanf(value, "%1u%c", &flag, &end) != 1 || flag > 1)
        return false;
    c->cooperative = flag;
    return true;
}

static bool parse_meta(orr_captured *c, const uint8_t *bytes, size_t n, orr_err *e) {
    char *text = orr_arena_strndup(&c->arena, (const char *)bytes, n), *next;
    if (strlen(text) != n) return bad(c, "a 0 in its text", e);
    for (char *line = text; *line; line = next) {
        next = strchr(line, '\n');
        if (!next) return bad(c, line, e);
        *next++ = 0;
        char *value = strchr(line, ' ');
        if (!value) return bad(c, line, e);
        *value++ = 0;
        if (!take_fact(c, line, value)) return bad(c, line, e);
    }
    return true;
}

// ---- a launch -------------------------------------------------------------------------------------------
static bool check_chunk(const orr_chunk *k, uint32_t last) {
    if (k->zero || k->stored > k->raw || k->tag < last) return false;
    switch (k->tag) {
    case CHUNK_META: return !last && k->raw <= MAX_META && k->stored == k->raw;
    case CHUNK_PARAMS: return last == CHUNK_META && k->raw <= MAX_PARAMS && k->stored == k->raw;
    case CHUNK_BEFORE:
    case CHUNK_AFTER:
        return last >= CHUNK_PARAMS && k->raw && k->raw <= ORR_PIECE && k->addr <= MAX_ADDRESS &&
               (k->addr & (ORR_PIECE - 1)) + k->raw <= ORR_PIECE && (k->hash || !k->stored);
    case CHUNK_REGIONS:
        return last >= CHUNK_PARAMS && last < CHUNK_REGIONS && k->raw <= MAX_META && k->stored == k->raw;
    case CHUNK_END: return last == CHUNK_REGIONS && !k->raw;
    default: return false;
    }
}

static bool parse(orr_captured *c, orr_err *e) {
    uint32_t last = 0;
    size_t at = 0;
    orr_chunk k;
    while (last != CHUNK_END) {
        if (c->n - at < sizeof k) return orr_fail(e, ORR_BAD_INPUT, "%s: ends too early", c->path);
        memcpy(&k, c->bytes + at, sizeof k);
        at += sizeof k;
        if (!check_chunk(&k, last))
            return orr_fail(e, ORR_BAD_INPUT, "%s: is damaged at byte %zu", c->path, at - sizeof k);
        if (k.stored > c->n - at) return orr_fail(e, ORR_BAD_INPUT, "%s: ends too early", c->path);
        if ((k.tag == CHUNK_META || k.tag == CHUNK_REGIONS) && !parse_meta(c, c->bytes + at, k.raw, e))
            return false;
        if (k.tag == CHUNK_PARAMS) {
            c->params = c->bytes + at;
            c->nparams = k.raw;
        }
        if (k.tag == CHUNK_BEFORE || k.tag == CHUNK_AFTER) {
            *ORR_PUSH(&c->pieces) = k;
            *ORR_PUSH(&c->at) = at;
        }
        at += k.stored;
        last = k.tag;
    }
    if (!c->kernel || !c->grid[0] || !c->block[0]) return bad(c, "no kernel, grid or block", e);
    if (c->like >= (int64_t)c->index) return bad(c, c->incomplete, e);
    return at == c->n || orr_fail(e, ORR_BAD_INPUT, "%s: goes on after its end", c->path);
}

bool orr_captured_parse(orr_captured *c, const char *path, const void *bytes, size_t n, orr_err *e) {
    *c = (orr_captured){.bytes = bytes, .n = n, .like = -1};
    c->path = orr_arena_strdup(&c->arena, path);
    if (parse(c, e)) return true;
    orr_captured_free(c);
    return false;
}

void orr_captured_free(orr_captured *c) {
    free(c->regions.at);
    free(c->textures.at);
    free(c->pieces.at);
    free(c->at.at);
    orr_arena_free(&c->arena);
    *c = (orr_captured){0};
}

bool orr_captured_contents(const orr_captured *c, size_t piece, uint8_t *to, orr_err *e) {
    const orr_chunk *k = &c->pieces.at[piece];
    const uint8_t *from = c->bytes + c->at.at[piece];
    bool ok = true;
    if (k->stored == k->raw) memcpy(to, from, k->raw);
    if (k->stored < k->raw)
#ifdef ORRERY_HAVE_ZSTD
        ok = ZSTD_decompress(to, k->raw, from, k->stored) == k->raw;
#else
        return orr_fail(e, ORR_BAD_INPUT, "%s: is packed with zstd, which this build does not have", c->path);
#endif
    if (ok && orr_piece_hash(to, k->raw) == k->hash) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: contents of 0x%" PRIx64 " are damaged", c->path, k->addr);
}

// ---- a folder -------------------------------------------------------------------------------------------
struct orr_capture {
    char *path;
    ORR_VEC(orr_captured) launches;
    orr_numbers file, piece; // where contents are: the launch, and the piece of it
    bool inputs;
};

bool orr_capture_probe(const char *path) {
    char name[4200], head[sizeof ORR_CAPTURE_HEADER] = {0};
    snprintf(name, sizeof name, "%s/capture.txt", path);
    FILE *f = fopen(name, "rb");
    bool is = f && fread(head, 1, sizeof head - 1, f) == sizeof head - 1 && !strcmp(head, ORR_CAPTURE_HEADER);
    if (f) fclose(f);
    return is;
}

static int is_launch(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n == 14 && strspn(d->d_name, "0123456789") == 7 && !strcmp(d->d_name + 7, ".launch");
}

// Mapped and not read: contents are looked at when they are needed.
static const void *map_file(const char *path, size_t *n, orr_err *e) {
    struct stat s;
    void *p = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool ok = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    if (ok && s.st_size > 0) p = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int why = errno;
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED) {
        orr_fail(e, ORR_BAD_INPUT, "%s: %s", path, !ok ? strerror(why) : "an empty file");
        return NULL;
    }
    *n = (size_t)s.st_size;
    return p;
}

static bool add_launch(orr_capture *c, const char *name, orr_err *e) {
    char path[4200];
    size_t n, at = c->launches.n;
    snprintf(path, sizeof path, "%s/%s", c->path, name);
    const void *bytes = map_file(path, &n, e);
    if (!bytes) return false;
    orr_captured one;
    if (!orr_captured_parse(&one, path, bytes, n, e)) {
        munmap((void *)(uintptr_t)bytes, n);
        return false;
    }
    *ORR_PUSH(&c->launches) = one;
    if (one.index != (uint32_t)strtoul(name, NULL, 10))
        return orr_fail(e, ORR_BAD_INPUT, "%s: is launch %u by its contents", path, one.index);
    if (one.number != at)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %u files come before it, and here are %zu; is one missing?",
                        path, one.number, at);
    for (size_t i = 0; i < one.pieces.n; i++) {
        const orr_chunk *k = &one.pieces.at[i];
        if (k->stored) {
            orr_numbers_put(&c->file, k->hash, at);
            orr_numbers_put(&c->piece, k->hash, i);
        } else if (k->hash && k->tag == CHUNK_AFTER && !orr_numbers_get(&c->file, k->hash)) {
            c->inputs = true;
        } else if (k->hash && !orr_numbers_get(&c->file, k->hash)) {
            return orr_fail(e, ORR_BAD_INPUT,
                            "%s: contents of 0x%" PRIx64 " are in no earlier launch; is a file missing?",
                            path, k->addr);
        }
    }
    return true;
}

orr_capture *orr_capture_open(const char *path, orr_err *e) {
    if (!orr_capture_probe(path)) {
        orr_fail(e, ORR_BAD_INPUT, "%s: is no capture", path);
        return NULL;
    }
    orr_capture *c = orr_calloc(1, sizeof *c);
    struct dirent **found;
    c->path = strdup(path);
    int n = scandir(path, &found, is_launch, alphasort);
    bool ok = n >= 0 || orr_fail(e, ORR_BAD_INPUT, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        ok = ok && add_launch(c, found[i]->d_name, e);
        free(found[i]);
    }
    if (n >= 0) free(found);
    if (ok && !c->launches.n) ok = orr_fail(e, ORR_BAD_INPUT, "%s: a capture without launches", path);
    if (ok) return c;
    orr_capture_free(c);
    return NULL;
}

bool orr_capture_has(const orr_capture *c, uint64_t hash) {
    return !hash || orr_numbers_get(&c->file, hash) != NULL;
}
bool orr_capture_inputs(const orr_capture *c) { return c->inputs; }
size_t orr_capture_launches(const orr_capture *c) { return c->launches.n; }
const orr_captured *orr_capture_launch(const orr_capture *c, size_t n) { return &c->launches.at[n]; }

const char *orr_capture_module_path(const orr_capture *c, uint64_t hash, char path[4200]) {
    snprintf(path, 4200, "%s/%016" PRIx64 ".cubin", c->path, hash);
    return path;
}

bool orr_capture_contents(const orr_capture *c, uint64_t hash, uint32_t n, uint8_t to[ORR_PIECE],
                          orr_err *e) {
    if (!hash) {
        memset(to, 0, n);
        return true;
    }
    const uint64_t *file = orr_numbers_get(&c->file, hash), *piece = orr_numbers_get(&c->piece, hash);
    const orr_captured *from = file ? &c->launches.at[*file] : NULL;
    if (!from || from->pieces.at[*piece].raw != n)
        return orr_fail(e, ORR_BAD_INPUT, "%s: contents %016" PRIx64 " are of another size", c->path, hash);
    return orr_captured_contents(from, (size_t)*piece, to, e);
}

void orr_capture_free(orr_capture *c) {
    if (!c) return;
    for (size_t i = 0; i < c->launches.n; i++) {
        orr_captured *l = &c->launches.at[i];
        munmap((void *)(uintptr_t)l->bytes, l->n);
        orr_captured_free(l);
    }
    free(c->launches.at);
    free(c->file.at);
    free(c->piece.at);
    free(c->path);
    free(c);
}
