// Private to stream/: the layout of a stream file, and bytes in and out of memory. docs/reference/streams.md
// tells it in prose.
//
//   file     header, then sections up to the FEND section and nothing after it
//   header   8 bytes magic, u32 version, u32 check (low half of the hash of the 12 bytes before)
//   section  40 bytes head, then `packed` bytes: one zstd frame that holds `raw` bytes
//   head     u32 type, u32 number (0, 1, 2 ...), u64 raw, u64 packed, u64 hash of the packed bytes,
//            u64 hash of the 32 bytes before
//
// All integers are little-endian. The hash is orr_hash64 with the seed below; it is over the
// compressed bytes, so that damage is found before anything is decompressed. Inside a section, `n` is
// a varint (trace.h), `z` a zigzag varint, `s` a string: n length, then the bytes.
#ifndef ORR_STREAM_PRIVATE_H
#define ORR_STREAM_PRIVATE_H

#include "stream/stream.h"

#define STREAM_MAGIC       "\211ORRS\r\n\n" // not text, and a transfer that changes line ends breaks it
#define STREAM_VERSION     3                // 1 had no versions of what is looked at, 2 no memory of a launch
#define STREAM_SEED        0x73747265616d0001ull
#define STREAM_HEADER      16
#define STREAM_HEAD        40
#define STREAM_FRAME       (1u << 20)   // raw bytes after which a frame is written
#define STREAM_SECTION_MAX (1ull << 32) // no section is larger: one thread block must fit
#define STREAM_KERNEL_MAX  (64u << 20)  // and no kernel, name table or total is larger than this
#define STREAM_RATIO_MAX   40000        // zstd cannot do better: 128 KiB from 4 bytes

#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
enum stream_section {
    SECTION_NAMES = FOURCC('N', 'A', 'M', 'E'),  // the tables that numbers in kernels refer to
    SECTION_KERNEL = FOURCC('K', 'E', 'R', 'N'), // before its first launch
    SECTION_LAUNCH = FOURCC('L', 'N', 'C', 'H'),
    SECTION_FRAME = FOURCC('T', 'B', 'L', 'K'), // consecutive thread blocks of the launch
    SECTION_DONE = FOURCC('D', 'O', 'N', 'E'),  // end of the launch, with its totals
    SECTION_END = FOURCC('F', 'E', 'N', 'D'),   // end of the file, with its totals
};

static inline void put_u32(uint8_t *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> 8 * i);
}
static inline void put_u64(uint8_t *p, uint64_t v) {
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(v >> 8 * i);
}
static inline uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t get_u64(const uint8_t *p) {
    return (uint64_t)get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

// ---- reading: a cursor that remembers that something was wrong ------------------------------------
typedef struct cursor {
    const uint8_t *at, *end;
    bool bad;
} cursor;
uint64_t take_n(cursor *c, uint64_t limit); // a varint not above the limit, else bad and 0
int64_t take_z(cursor *c);
const char *take_s(cursor *c, orr_arena *a);
// A count of things of which each takes at least so many bytes, so it cannot exceed what is left.
uint32_t take_count(cursor *c, uint32_t each);

// ---- writing ----------------------------------------------------------------------------------------
void add_n(orr_text *t, uint64_t v);
void add_z(orr_text *t, int64_t v);
void add_s(orr_text *t, const char *s);

// ---- compression (pack.c): the only file that knows zstd ----------------------------------------------
bool pack_available(orr_err *e); // false, with the reason: built without zstd
typedef struct packer packer;    // working memory, kept from section to section
packer *packer_new(void);
void packer_free(packer *p);
size_t pack_bound(size_t raw);
size_t pack(packer *p, const void *raw, size_t n, void *to, size_t cap);    // 0: failed
bool unpack(packer *p, const void *packed, size_t n, void *to, size_t raw); // exactly `raw` bytes, or false

// ---- kernels (kernel.c) -----------------------------------------------------------------------------
void names_write(orr_text *t);
// Checks the tables against ours; op_map[0 .. return - 1] are our numbers of the file's operations.
// 0 when they do not fit, with the reason in why.
uint32_t names_read(cursor *c, uint16_t op_map[ORR_OP_COUNT], char why[200]);
void kernel_write(orr_text *t, const orr_kernel *k);
// A kernel of its own, with a module of its own that holds names only. NULL: damaged, why says what.
orr_kernel *kernel_read(cursor *c, const uint16_t *op_map, uint32_t nops, const char **why);
void kernel_delete(orr_kernel *k);

#endif
