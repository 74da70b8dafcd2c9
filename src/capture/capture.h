// A capture: what a program's launches on a real GPU need to be done again elsewhere, in a folder.
//
//   capture.txt      "orrery capture 2", then what is known of the GPU, for people
//   HASH.cubin       a module's machine code, as the driver loaded it
//   times.csv        index,kernel,microseconds: with --measure, what a launch took between two events
//   measured.csv     with --measure, cycles and counters, as `orrery hw profile` writes them
//   0000012.launch   a launch: what it was, memory that has changed since the launch before, and memory that
//                    the kernel changed
//
// Memory is cut into pieces: of each region (an allocation, a variable) what lies between two multiples of
// ORR_PIECE. A piece is known by its address, its contents by their hash. A launch's file has only pieces
// that are not as they were when they were looked at last, and contents only if no earlier file has them. An
// AFTER piece may have no contents anywhere (--inputs-only): whoever replays the launch makes them.
//
// A launch's file is a row of chunks, each an orr_chunk and its bytes: META (text, below), PARAMS, any number
// of BEFORE, any number of AFTER, REGIONS (text), END. It has another name until it is complete, so that what
// a program that is killed leaves is whole. Numbers are little-endian, as on all machines that CUDA runs on.
//
// META and REGIONS, a fact a line:
//   number N                of the files before it: none is missing
//   kernel NAME             index N                 grid X Y Z    block X Y Z    cluster X Y Z
//   module HASH             shared BYTES            cooperative 0|1
//   range PATH              of NVTX, "step/layer 3": what the program called the part that launched it
//   incomplete WHY          memory is not all there: it cannot be replayed; "like N": launch N stands for it
//   region ADDRESS BYTES    (hexadecimal, decimal)
//   symbol ADDRESS BYTES NAME   a variable of its module; its memory is a region too
//   texture HANDLE ADDRESS N... a texture or surface: where its texels are, and what exec/texture.h makes of
//   it. Those
//                    of an array are a region of the host's memory, in blocks
#ifndef ORR_CAPTURE_H
#define ORR_CAPTURE_H

#include "base/base.h"

#define ORR_PIECE          16384u
#define ORR_CAPTURE_HEADER "orrery capture 2\n"

enum { CHUNK_META = 1, CHUNK_PARAMS, CHUNK_BEFORE, CHUNK_AFTER, CHUNK_REGIONS, CHUNK_END };
typedef struct orr_chunk {
    uint32_t tag, raw; // raw: bytes of contents
    uint32_t stored; // bytes that follow: as they are if as many, else packed by zstd; 0: known, or left out
    uint32_t zero;
    uint64_t addr; // of a piece
    uint64_t hash; // of the contents; 0: zeros
} orr_chunk;

uint64_t orr_piece_hash(const void *data, size_t n); // 0: nothing but zeros

// Does a pattern of the shell match one of the path's ranges, or the path to it?
bool orr_range_matches(const char *pattern, const char *path);

// ---- a map of numbers -----------------------------------------------------------------------------------
typedef struct orr_numbers { // from numbers to numbers; zero it, free its `at`
    struct orr_number {
        uint64_t key, value;
        bool used;
    } * at;
    size_t cap, n;
} orr_numbers;
uint64_t *orr_numbers_get(const orr_numbers *m, uint64_t key); // NULL: it is not there
void orr_numbers_put(orr_numbers *m, uint64_t key, uint64_t value);

// ---- writing (write.c) ------------------------------------------------------------------------------------
typedef struct orr_capture_writer orr_capture_writer;
// The folder is made; one that has something in it is refused. `about` goes to capture.txt.
orr_capture_writer *orr_capture_create(const char *folder, const char *about, orr_err *e);
bool orr_capture_about(orr_capture_writer *w, const char *about, orr_err *e); // something else there
bool orr_capture_module(orr_capture_writer *w, uint64_t hash, const void *code, size_t n, orr_err *e);
bool orr_capture_begin(orr_capture_writer *w, uint32_t index, orr_err *e);
void orr_capture_put(orr_capture_writer *w, uint32_t tag, const void *data, size_t n);
void orr_capture_piece(orr_capture_writer *w, uint32_t tag, uint64_t addr, const void *data, size_t n);
void orr_capture_inputs_only(orr_capture_writer *w, bool on); // AFTER pieces without contents, from now on
bool orr_capture_end(orr_capture_writer *w, orr_err *e);      // gives it its name
void orr_capture_forget(orr_capture_writer *w, uint64_t addr, uint64_t bytes); // a region is no more
bool orr_capture_time(orr_capture_writer *w, uint32_t index, const char *kernel, double us, orr_err *e);
uint64_t orr_capture_bytes(const orr_capture_writer *w); // written so far
void orr_capture_close(orr_capture_writer *w);

// ---- reading (read.c) -------------------------------------------------------------------------------------
typedef struct orr_captured_region {
    uint64_t addr, bytes;
    const char *symbol; // NULL: it is an allocation
} orr_captured_region;

#define ORR_CAPTURED_NUMBERS 21
typedef struct orr_captured_texture {
    uint64_t handle, addr;
    uint32_t n[ORR_CAPTURED_NUMBERS]; // orr_tex_of_numbers
} orr_captured_texture;

typedef struct orr_captured { // a launch
    const char *path;
    const char *kernel, *range; // range: NULL, it has none
    const char *incomplete;     // NULL: it is complete
    int64_t like;               // the launch (its index) that stands for it; -1: none
    uint32_t number, index, grid[3], block[3], cluster[3], shared;
    bool cooperative;
    uint64_t module;
    ORR_VEC(orr_captured_region) regions;
    ORR_VEC(orr_captured_texture) textures;
    const uint8_t *params;
    uint32_t nparams;
    ORR_VEC(orr_chunk) pieces; // BEFORE and AFTER, in order
    ORR_VEC(uint64_t) at;      // where the bytes of each begin
    const uint8_t *bytes;      // the file
    size_t n;
    orr_arena arena;
} orr_captured;
// A launch from the bytes of its file, which must live as long; everything is checked but contents.
bool orr_captured_parse(orr_captured *c, const char *path, const void *bytes, size_t n, orr_err *e);
void orr_captured_free(orr_captured *c);
// The contents of a piece that the file has itself, chunk.raw bytes, checked against their hash.
bool orr_captured_contents(const orr_captured *c, size_t piece, uint8_t *to, orr_err *e);

typedef struct orr_capture orr_capture;
bool orr_capture_probe(const char *path); // is it such a folder?
orr_capture *orr_capture_open(const char *path, orr_err *e);
size_t orr_capture_launches(const orr_capture *c);
const orr_captured *orr_capture_launch(const orr_capture *c, size_t n); // in the order of launching
const char *orr_capture_module_path(const orr_capture *c, uint64_t hash, char path[4200]);
bool orr_capture_has(const orr_capture *c, uint64_t hash); // are contents stored anywhere?
bool orr_capture_inputs(const orr_capture *c);             // some contents are left out (--inputs-only)
// Contents by their hash, from the launch's file that has them.
bool orr_capture_contents(const orr_capture *c, uint64_t hash, uint32_t n, uint8_t to[ORR_PIECE], orr_err *e);
void orr_capture_free(orr_capture *c);

#endif
