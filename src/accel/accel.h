// Accel-Sim's files: traces in and out, GPGPU-Sim configurations in.
//
// A trace is text: for each thread block and warp the instructions it executed, with registers, masks and
// addresses (docs/guides/accel-sim.md). It becomes what every model takes: a kernel, made of the instructions
// that were seen, and streams. The kernel grows while the file is read (kernel->grows), because what code
// there is is known only when all of it has run; a block of the kernel is a run of instructions under one
// mask. Memory is bounded however large the file is: one thread block at a time.
#ifndef ORR_ACCEL_H
#define ORR_ACCEL_H

#include "gpu/gpu.h"
#include "stream/stream.h"

struct orr_program; // program/program.h

// ---- reading ----------------------------------------------------------------------------------
// kernelslist.g, or one .traceg (also .xz, and raw .trace is refused with advice).
bool orr_accel_probe(const char *path); // is it one, by its name and first bytes?

enum orr_accel_kind { ORR_ACCEL_END, ORR_ACCEL_KERNEL, ORR_ACCEL_COPY };
typedef struct orr_accel_item { // one line of the list
    enum orr_accel_kind kind;
    orr_source *source;   // KERNEL: valid until the next call; also when it is skipped
    const char *file;     // and what else its header says
    uint32_t id, binary;  // kernel id; 70 for sm_70
    int version;          // of the tracer; -1: not stated
    uint64_t stream;      // CUDA stream
    bool lineinfo;        // instructions have source lines
    uint64_t addr, bytes; // COPY: host to device
} orr_accel_item;

typedef struct orr_accel_file orr_accel_file;
orr_accel_file *orr_accel_open(const char *path, orr_err *e);
// The next command of the list; false on error. A kernel's file is opened here and its header read; its
// thread blocks come when the source is pulled. Opcodes nobody knows are classed by their name, with one
// warning each. Launches of one name, registers and shared memory share a kernel, which lives while the file
// is open.
bool orr_accel_next(orr_accel_file *f, orr_accel_item *item, orr_err *e);
void orr_accel_notes(orr_accel_file *f, orr_notes to);  // who reads the warnings; nobody by default
void orr_accel_threads(orr_accel_file *f, int threads); // more than 1: large files are read ahead by a thread
void orr_accel_close(orr_accel_file *f);
// One trace from memory, for fuzzing and tests. The text is not copied.
orr_source *orr_accel_from_text(const char *text, size_t n, const char *name, orr_err *e);

// An instruction of a kernel by its mnemonic ("LDG.128"; `width` bytes of a lane when it touches memory),
// without registers: for those who make up kernels. False when nobody knows the mnemonic.
bool orr_accel_inst(orr_kernel *k, orr_inst *i, const char *mnemonic, int width);

// ---- writing ------------------------------------------------------------------------------------
// Launches as kernelslist.g and kernel-N.traceg(.xz) in a folder, from streams and the program that is timed.
// The folder has a temporary name until commit. One that is there must be empty or hold an older trace.
typedef struct orr_accel_writer orr_accel_writer;
bool orr_accel_xz(void); // can this build write .xz?
int orr_accel_binary(
    const orr_gpu *g); // the binary version written for a GPU: one that Accel-Sim has a table for
int orr_accel_format(const char *name); // accel-sim: 1, .xz; accel-sim-plain: 0; another, and NULL: -1
orr_accel_writer *orr_accel_create(const char *folder, bool xz, orr_err *e);
// What was copied to the GPU before the next launch: a line of the list.
void orr_accel_copy(orr_accel_writer *w, uint64_t to, uint64_t bytes);
bool orr_accel_begin(orr_accel_writer *w, const orr_launch_info *launch, const struct orr_program *p,
                     orr_err *e);
bool orr_accel_block(orr_accel_writer *w, const orr_tb *tb, orr_err *e); // in grid order
bool orr_accel_end(orr_accel_writer *w, orr_err *e);
bool orr_accel_commit(orr_accel_writer *w, orr_err *e); // writes kernelslist.g; frees
void orr_accel_discard(orr_accel_writer *w);

// ---- configurations -----------------------------------------------------------------------------
// gpgpusim.config and (may be NULL) trace.config as a GPU description: the text of a .conf file, each value
// with the option it came from. `notes` gets one line for each option that could not be used.
bool orr_accel_import(const char *gpgpusim, const char *trace, orr_text *conf, orr_text *notes, orr_err *e);
typedef struct orr_accel_text { // both files, as text
    const char *name, *gpgpusim;
    size_t gpgpusim_n;
    const char *trace; // may be NULL
    size_t trace_n;
} orr_accel_text;
bool orr_accel_import_text(const orr_accel_text *t, orr_text *conf, orr_text *notes, orr_err *e);

#endif
