// Reading a stream file, section by section: memory holds one frame, not a launch.
//
// Nothing is believed. A section's head carries its own hash, so its sizes are as they were written;
// its bytes are hashed before they are decompressed; sections are numbered, so that none can be missing
// or come twice; and whoever computes right hashes over wrong contents still meets the checks of every
// size, index and order here and in kernel.c.
//
// A folder of stream files is read as one: its files in the order of their names, each checked as a whole.
// Kernels that are in several of them, byte for byte, are one kernel.
#include "stream/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct file_source {
    orr_source base;
    struct orr_stream_file *file;
} file_source;

typedef struct known_kernel { // of any file so far
    orr_kernel *kernel;
    uint64_t hash;
} known_kernel;

typedef struct launch_read { // the launch being read
    bool open;               // its end has not been read
    uint32_t nwarps;         // of a thread block
    uint64_t nblocks, next;
    orr_stream_totals totals, counted; // as the file says; as read
    cursor lengths;                    // of the current frame
    const uint8_t *data;
    uint32_t left; // thread blocks of the frame not yet delivered
    orr_warp_trace *warps;
} launch_read;

struct orr_stream_file {
    char *path;
    FILE *f;
    packer *packer;
    uint64_t at;         // bytes read
    uint64_t section_at; // where the current section starts
    uint32_t type;       // of the current section
    uint16_t op_map[ORR_OP_COUNT];
    uint32_t nops;
    orr_stream_stats stats; // of this file
    ORR_VEC(orr_kernel *) kernels;
    char **files; // NULL: a single one
    size_t nfiles, file;
    orr_stream_stats before; // of the folder's files that have been read
    ORR_VEC(known_kernel) known;
    bool ended; // FEND was read
    bool broken;

    uint8_t *packed, *raw;
    size_t packed_cap, raw_cap, raw_n;

    file_source source;
    launch_read launch;
};

static const char *section_name(uint32_t type) {
    switch (type) {
    case SECTION_NAMES: return "name table";
    case SECTION_KERNEL: return "kernel";
    case SECTION_LAUNCH: return "launch";
    case SECTION_FRAME: return "frame";
    case SECTION_DONE: return "end of launch";
    case SECTION_END: return "end of file";
    default: return "unknown";
    }
}

// ---- errors: each names the file, the section and its place ---------------------------------------
static bool damaged(orr_stream_file *f, orr_err *e, const char *what) {
    f->broken = true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: section %u (%s) at byte %llu is damaged: %s; record it again",
                    f->path, f->stats.sections ? f->stats.sections - 1 : 0, section_name(f->type),
                    (unsigned long long)f->section_at, what);
}

static bool truncated(orr_stream_file *f, orr_err *e) {
    f->broken = true;
    if (ferror(f->f))
        return orr_fail(e, ORR_BAD_INPUT, "%s: cannot read at byte %llu: %s", f->path,
                        (unsigned long long)f->at, strerror(errno));
    return orr_fail(e, ORR_BAD_INPUT, "%s: ends too early, in section %u at byte %llu; record it again",
                    f->path, f->stats.sections, (unsigned long long)f->at);
}

// ---- sections -------------------------------------------------------------------------------------
static void grow(uint8_t **p, size_t *cap, size_t n) {
    if (n <= *cap) return;
    *p = orr_realloc(*p, n);
    *cap = n;
}

// Buffers grow with what the file really holds, not with what it claims.
static bool get_packed(orr_stream_file *f, uint64_t n, orr_err *e) {
    size_t have = 0;
    while (have < n) {
        size_t want = have + (1u << 20) < 2 * have ? 2 * have : have + (1u << 20);
        if (want > n) want = (size_t)n;
        grow(&f->packed, &f->packed_cap, want);
        size_t got = fread(f->packed + have, 1, want - have, f->f);
        have += got;
        f->at += got;
        if (have < want) return truncated(f, e);
    }
    return true;
}

static bool next_section(orr_stream_file *f, cursor *c, orr_err *e) {
    uint8_t head[STREAM_HEAD];
    f->section_at = f->at;
    f->type = 0;
    size_t got = fread(head, 1, sizeof head, f->f);
    f->at += got;
    if (got < sizeof head) return truncated(f, e);
    uint32_t number = get_u32(head + 4);
    uint64_t raw = get_u64(head + 8), packed = get_u64(head + 16);
    f->stats.sections++;
    if (orr_hash64(head, 32, STREAM_SEED) != get_u64(head + 32))
        return damaged(f, e, "its head has a wrong checksum");
    f->type = get_u32(head);
    if (number != f->stats.sections - 1) return damaged(f, e, "it is out of order");
    uint64_t limit = f->type == SECTION_FRAME ? STREAM_SECTION_MAX : STREAM_KERNEL_MAX;
    if (raw > limit || packed > limit + (limit >> 4) + 1024 || raw / STREAM_RATIO_MAX > packed)
        return damaged(f, e, "its size is absurd");
    if (!get_packed(f, packed, e)) return false;
    if (orr_hash64(f->packed, packed, STREAM_SEED) != get_u64(head + 24))
        return damaged(f, e, "its checksum is wrong");
    grow(&f->raw, &f->raw_cap, raw ? (size_t)raw : 1);
    if (!unpack(f->packer, f->packed, (size_t)packed, f->raw, (size_t)raw))
        return damaged(f, e, "it cannot be decompressed");
    f->raw_n = (size_t)raw;
    f->stats.raw_bytes += raw;
    *c = (cursor){f->raw, f->raw + raw, false};
    return true;
}

// ---- the file -------------------------------------------------------------------------------------
static bool read_header(orr_stream_file *f, orr_err *e) {
    uint8_t h[STREAM_HEADER];
    size_t got = fread(h, 1, sizeof h, f->f);
    f->at += got;
    if (got < 8 || memcmp(h, STREAM_MAGIC, 8))
        return orr_fail(e, ORR_BAD_INPUT, "%s: is not a recorded stream", f->path);
    if (got < sizeof h) return truncated(f, e);
    if ((uint32_t)orr_hash64(h, 12, STREAM_SEED) != get_u32(h + 12))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: the header at byte 0 is damaged: its checksum is wrong; record it again",
                        f->path);
    uint32_t version = get_u32(h + 8);
    if (version < 1 || version > STREAM_VERSION)
        return orr_fail(e, ORR_BAD_INPUT, "%s: has version %u of the format, this orrery reads %d; %s",
                        f->path, version, STREAM_VERSION,
                        version > STREAM_VERSION ? "use a newer orrery" : "record it again");
    cursor c;
    if (!next_section(f, &c, e)) return false;
    if (f->type != SECTION_NAMES) return damaged(f, e, "the file must start with its name table");
    char why[200];
    f->nops = names_read(&c, f->op_map, why);
    if (!f->nops)
        return orr_fail(e, ORR_BAD_INPUT, "%s: was recorded by another orrery: %s; record it again", f->path,
                        why);
    return true;
}

orr_stream_file *orr_stream_from(FILE *file, const char *name, orr_err *e) {
    orr_stream_file *f = orr_calloc(1, sizeof *f);
    f->path = orr_malloc(strlen(name) + 1);
    strcpy(f->path, name);
    f->f = file;
    f->packer = packer_new();
    if (pack_available(e) && read_header(f, e)) return f;
    orr_stream_close(f);
    return NULL;
}

// ---- a folder ---------------------------------------------------------------------------------------
static int is_stream_name(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n > 4 && !strcmp(d->d_name + n - 4, ".orr");
}

static int list_folder(const char *path, char ***files) { // -1: it is no folder
    struct dirent **names;
    int n = scandir(path, &names, is_stream_name, alphasort);
    if (n < 0) return -1;
    *files = orr_calloc((size_t)n + 1, sizeof **files);
    for (int i = 0; i < n; i++) {
        size_t room = strlen(path) + strlen(names[i]->d_name) + 2;
        (*files)[i] = orr_malloc(room);
        snprintf((*files)[i], room, "%s/%s", path, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return n;
}

static void free_files(char **files, size_t n) {
    for (size_t i = 0; i < n; i++) free(files[i]);
    free(files);
}

// The next file of the folder takes the place of the one that has been read.
static bool next_file(orr_stream_file *f, orr_err *e) {
    orr_stream_stats *b = &f->before;
    b->file_bytes += f->at;
    b->raw_bytes += f->stats.raw_bytes;
    b->sections += f->stats.sections;
    b->frames += f->stats.frames;
    b->launches += f->stats.launches;
    b->blocks += f->stats.blocks;
    f->stats = (orr_stream_stats){0};
    f->at = 0;
    f->kernels.n = 0;
    f->ended = false;
    free(f->path);
    f->path = f->files[++f->file];
    f->files[f->file] = NULL;
    fclose(f->f);
    f->f = fopen(f->path, "rb");
    if (!f->f) {
        f->broken = true;
        return orr_fail(e, ORR_BAD_INPUT, "%s: cannot open: %s", f->path, strerror(errno));
    }
    if (read_header(f, e)) return true;
    f->broken = true;
    return false;
}

static orr_stream_file *open_one(const char *path, orr_err *e) {
    FILE *file = fopen(path, "rb");
    if (file) return orr_stream_from(file, path, e);
    orr_fail(e, ORR_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    return NULL;
}

orr_stream_file *orr_stream_open(const char *path, orr_err *e) {
    char **files;
    int n = list_folder(path, &files);
    if (n < 0) return open_one(path, e);
    orr_stream_file *f = NULL;
    if (!n)
        orr_fail(e, ORR_BAD_INPUT, "%s: holds no recorded stream (*.orr)", path);
    else
        f = open_one(files[0], e);
    if (!f) {
        free_files(files, (size_t)n);
        return NULL;
    }
    f->files = files;
    f->nfiles = (size_t)n;
    return f;
}

bool orr_stream_probe(const char *path) {
    char **files;
    int n = list_folder(path, &files);
    if (n >= 0) {
        bool ours = n > 0 && orr_stream_probe(files[0]);
        free_files(files, (size_t)n);
        return ours;
    }
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    char magic[8];
    bool ours = fread(magic, 1, 8, f) == 8 && !memcmp(magic, STREAM_MAGIC, 8);
    fclose(f);
    return ours;
}

void orr_stream_close(orr_stream_file *f) {
    if (!f) return;
    if (f->f) fclose(f->f);
    for (size_t i = 0; i < f->known.n; i++) kernel_delete(f->known.at[i].kernel);
    free(f->known.at);
    free(f->kernels.at);
    if (f->files) free_files(f->files, f->nfiles);
    packer_free(f->packer);
    free(f->packed);
    free(f->raw);
    free(f->launch.warps);
    free(f->path);
    free(f);
}

void orr_stream_read_stats(const orr_stream_file *f, orr_stream_stats *s) {
    const orr_stream_stats *b = &f->before;
    *s = f->stats;
    s->file_bytes = b->file_bytes + f->at;
    s->raw_bytes += b->raw_bytes;
    s->sections += b->sections;
    s->frames += b->frames;
    s->launches += b->launches;
    s->blocks += b->blocks;
    s->kernels = (uint32_t)f->known.n;
}

void orr_stream_launch_totals(const orr_stream_file *f, orr_stream_totals *t) { *t = f->launch.totals; }

// ---- thread blocks --------------------------------------------------------------------------------
// A frame is: first thread block, how many, the length of every warp's trace, then all the traces. The
// lengths are added up once, so that no pointer made from them can leave the frame.
static bool open_frame(orr_stream_file *f, cursor c, orr_err *e) {
    uint64_t first = take_n(&c, UINT64_MAX), count = take_n(&c, UINT32_MAX);
    if (c.bad || first != f->launch.next || !count || count > f->launch.nblocks - f->launch.next)
        return damaged(f, e, "it holds other thread blocks than it should");
    if (count * f->launch.nwarps > (uint64_t)(c.end - c.at)) return damaged(f, e, "it is too short");
    cursor walk = c;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count * f->launch.nwarps && sum <= STREAM_SECTION_MAX; i++)
        sum += take_n(&walk, STREAM_SECTION_MAX);
    if (walk.bad || sum != (uint64_t)(walk.end - walk.at)) return damaged(f, e, "its traces do not add up");
    f->launch.lengths = c;
    f->launch.data = walk.at;
    f->launch.left = (uint32_t)count;
    f->stats.frames++;
    return true;
}

static bool close_launch(orr_stream_file *f, cursor c, orr_err *e) {
    orr_stream_totals t;
    t.blocks = take_n(&c, UINT64_MAX);
    t.warp_insts = take_n(&c, UINT64_MAX);
    t.thread_insts = take_n(&c, UINT64_MAX);
    t.trace_bytes = take_n(&c, UINT64_MAX);
    if (c.bad || c.at != c.end) return damaged(f, e, "its totals are unreadable");
    if (f->launch.next != f->launch.nblocks || t.blocks != f->launch.nblocks)
        return damaged(f, e, "thread blocks are missing");
    if (t.trace_bytes != f->launch.counted.trace_bytes)
        return damaged(f, e, "its totals are not those of the launch");
    f->launch.totals = t;
    f->launch.open = false;
    f->stats.blocks += t.blocks;
    return true;
}

static int next_block(orr_source *s, orr_tb *tb, orr_err *e) {
    orr_stream_file *f = ((file_source *)s)->file;
    if (f->broken) return -1;
    while (!f->launch.left) {
        cursor c;
        if (!f->launch.open) return 0;
        if (!next_section(f, &c, e)) return -1;
        if (f->type == SECTION_FRAME) {
            if (!open_frame(f, c, e)) return -1;
        } else if (f->type == SECTION_DONE) {
            return close_launch(f, c, e) ? 0 : -1;
        } else {
            damaged(f, e, "it does not belong inside a launch");
            return -1;
        }
    }
    for (uint32_t w = 0; w < f->launch.nwarps; w++) {
        size_t n = (size_t)take_n(&f->launch.lengths, STREAM_SECTION_MAX);
        f->launch.warps[w] = (orr_warp_trace){f->launch.data, n};
        f->launch.data += n;
        f->launch.counted.trace_bytes += n;
    }
    *tb = (orr_tb){f->launch.next++, f->launch.nwarps, f->launch.warps};
    f->launch.left--;
    return 1;
}

static void close_source(orr_source *s) { (void)s; } // it is part of the file

// ---- launches -------------------------------------------------------------------------------------
static bool open_launch(orr_stream_file *f, cursor c, orr_err *e) {
    orr_launch_info *info = &f->source.base.info;
    uint32_t kernel = (uint32_t)take_n(&c, UINT32_MAX);
    for (int d = 0; d < 3; d++) info->grid[d] = (uint32_t)take_n(&c, d ? 65535 : INT32_MAX);
    for (int d = 0; d < 3; d++) info->block[d] = (uint32_t)take_n(&c, 1024);
    info->dynamic_shared = (uint32_t)take_n(&c, 1u << 30);
    info->index = (uint32_t)take_n(&c, UINT32_MAX);
    info->memory = c.at != c.end ? take_n(&c, UINT64_MAX) : 0; // files of version 1 and 2 do not have it
    if (c.bad || c.at != c.end) return damaged(f, e, "it is unreadable");
    if (kernel >= f->kernels.n) return damaged(f, e, "its kernel is not in the file");
    info->kernel = f->kernels.at[kernel];
    uint64_t threads = (uint64_t)info->block[0] * info->block[1] * info->block[2];
    f->launch.nblocks = (uint64_t)info->grid[0] * info->grid[1] * info->grid[2];
    if (!f->launch.nblocks || !threads || threads > 1024) return damaged(f, e, "its grid or block cannot be");
    f->launch.nwarps = (uint32_t)(threads + ORR_WARP - 1) / ORR_WARP;
    f->launch.warps = orr_realloc(f->launch.warps, f->launch.nwarps * sizeof *f->launch.warps);
    f->launch.next = 0;
    f->launch.left = 0;
    f->launch.totals = f->launch.counted = (orr_stream_totals){0};
    f->launch.open = true;
    f->source.base.next = next_block;
    f->source.base.close = close_source;
    f->source.file = f;
    f->stats.launches++;
    return true;
}

static bool close_file(orr_stream_file *f, cursor c, orr_err *e) {
    uint64_t kernels = take_n(&c, UINT64_MAX), launches = take_n(&c, UINT64_MAX),
             blocks = take_n(&c, UINT64_MAX);
    if (c.bad || c.at != c.end || kernels != f->kernels.n || launches != f->stats.launches ||
        blocks != f->stats.blocks)
        return damaged(f, e, "its totals are not those of the file");
    if (fgetc(f->f) != EOF) {
        f->broken = true;
        return orr_fail(e, ORR_BAD_INPUT, "%s: goes on after its end at byte %llu; record it again", f->path,
                        (unsigned long long)f->at);
    }
    f->ended = true;
    return true;
}

static bool add_kernel(orr_stream_file *f, cursor c, orr_err *e) {
    // What the bytes mean depends on the file's table of operations.
    uint64_t hash = orr_hash64(f->raw, f->raw_n, orr_hash64(f->op_map, f->nops * sizeof *f->op_map, 0));
    for (size_t i = 0; f->files && i < f->known.n; i++)
        if (f->known.at[i].hash == hash) {
            *ORR_PUSH(&f->kernels) = f->known.at[i].kernel;
            return true;
        }
    const char *why;
    orr_kernel *k = kernel_read(&c, f->op_map, f->nops, &why);
    if (!k) return damaged(f, e, why);
    *ORR_PUSH(&f->known) = (known_kernel){k, hash};
    *ORR_PUSH(&f->kernels) = k;
    return true;
}

orr_source *orr_stream_next_launch(orr_stream_file *f, orr_err *e) {
    if (f->broken || f->ended) return NULL;
    orr_tb tb;
    int more = 0;
    while (f->launch.open && (more = next_block(&f->source.base, &tb, e)) > 0) {} // what nobody pulled
    if (more < 0) return NULL;
    for (;;) {
        cursor c;
        if (!next_section(f, &c, e)) return NULL;
        switch (f->type) {
        case SECTION_KERNEL:
            if (!add_kernel(f, c, e)) return NULL;
            break;
        case SECTION_LAUNCH: return open_launch(f, c, e) ? &f->source.base : NULL;
        case SECTION_END:
            if (!close_file(f, c, e) || f->file + 1 >= f->nfiles) return NULL;
            if (!next_file(f, e)) return NULL;
            break;
        default: damaged(f, e, "it does not belong between launches"); return NULL;
        }
    }
}
