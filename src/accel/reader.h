// Private to accel/, the reading side: from the text of a trace to a kernel and streams.
//
//   input.c   the text, from a file, an .xz file or memory, in large pieces
//   line.c    one instruction line: what it says every time (an instruction), what it says this time
//   decode.c  a mnemonic and its registers as an instruction of the kernel
//   words.c   machine code that the header carries, where Orrery wrote the trace
//   code.c    the kernel that grows: runs of instructions become its blocks
//   known.c   runs of lines whose text was seen before
//   reader.c  the header, thread blocks and warps of one file: an orr_source
//   list.c    kernelslist.g and opening
#ifndef ORR_ACCEL_READER_H
#define ORR_ACCEL_READER_H

#include "accel/accel.h"
#include "stream/trace.h"

// ---- input ------------------------------------------------------------------------------------
#define INPUT_ROOM (64u << 10) // ask for this much ahead of `at`, and no line is longer
typedef struct input {
    const char *name;     // for messages
    const char *at, *end; // what has not been read; *end is 0 and 16 bytes after it can be looked at
    uint64_t line;        // number of the line that `at` is in
    bool last;            // nothing comes after end
    char *buf;
    size_t cap;
    int fd;           // -1: none
    const char *text; // from memory: what is left of it
    size_t left;
    struct lzma *xz; // NULL: plain
    int threads;     // more than 1: the next piece is read by a thread
    struct ahead *ahead;
    uint64_t moves; // times that the text in the buffer has moved
} input;
bool input_open(input *in, const char *path, orr_err *e); // *.xz is decompressed
void input_text(input *in, const char *text, size_t n, const char *name);
bool input_more(input *in, orr_err *e); // keeps what is left and reads on; also when there is no more
void input_close(input *in);
static inline bool input_room(input *in, orr_err *e) {
    return (size_t)(in->end - in->at) >= INPUT_ROOM || in->last || input_more(in, e);
}
// The next line without blanks around it; blank ones are skipped. 0 at the end, -1 error. Valid until the
// next call.
int input_line(input *in, const char **text, size_t *n, orr_err *e);

// ---- instructions ---------------------------------------------------------------------------------
typedef struct words { // machine code of a kernel, 16 bytes an instruction, from PC 0 on
    unsigned sm;
    uint64_t *at; // two an instruction
    uint32_t n;   // instructions; 0: the trace has none
    uint32_t cap;
} words;
// "SM PC WORD WORD ...": appends. False when it is something else, or does not follow what is there.
bool words_add(words *w, const char *s, size_t n);
bool words_same(const words *a, const words *b);

typedef struct trace_head { // the header of a trace
    char *name;
    uint32_t id, grid[3], block[3], shared, regs, binary;
    uint64_t stream, shared_base, local_base;
    int version; // of the tracer; -1: not stated
    bool lineinfo;
    int prefix; // four numbers in front of each line: 1 yes, 0 no, -1 not known before the first line
    words words;
} trace_head;

enum { LINE_PLAIN, LINE_ACCESS, LINE_DROP }; // no addresses; the stream carries them; nobody wants them
typedef struct line { // an instruction as the text has it: PC and all that follows the mask, without
                      // addresses
    uint32_t pc, srcline;
    uint32_t n;       // bytes of text: to the end of the line, or to the blank after the width
    const char *text; // right after the blank that follows the mask
    uint8_t how;
    bool ends; // a block
    orr_inst inst;
} line;

// Fills inst (all but line, srcline) from a mnemonic and its registers; appends operands to k. False when
// nobody knows the mnemonic and its class was guessed.
typedef struct traced_inst {
    const char *name;
    size_t n; // bytes of its name
    const uint16_t *dst, *src;
    int ndst, nsrc;
    int width; // bytes of a lane's access; 0: it has none
    int64_t imm;
} traced_inst;
bool decode_inst(orr_kernel *k, uint32_t *operands_cap, orr_inst *inst, const traced_inst *t);

// The same, put right by the machine code at its PC, where the trace has it and it is the same instruction:
// all registers, predicates, constants and control bits.
void words_inst(const words *w, orr_kernel *k, uint32_t *operands_cap, orr_inst *inst, uint32_t pc);

// ---- the kernel -----------------------------------------------------------------------------------
#define BLOCK_MAX 64 // instructions
#define NONE      UINT32_MAX

typedef struct node { // a run of instructions: its last one after the run `parent`
    uint32_t block;   // of the kernel, or NONE
    uint32_t parent, line;
    uint32_t next_line, next; // the step taken last from here
} node;

typedef struct code { // a kernel, and how to find what a line is in it. Launches with one name share one.
    orr_kernel kernel;
    orr_module module;
    orr_func func;
    uint32_t insts_cap, blocks_cap, operands_cap, names_cap;
    ORR_VEC(line) lines;
    ORR_VEC(node) nodes; // [0] the empty run
    orr_map by_text;     // PC, source line and text -> line + 1
    orr_map by_name;     // mnemonic -> index in kernel.names + 1
    struct step *steps;  // (node, line) -> node
    size_t nsteps, steps_cap;
    bool lineinfo;
    words words;
    struct code *next;
} code;

code *code_new(trace_head *h, const char *path); // takes over h->words
void code_free(code *c);
bool code_fits(const code *c, const trace_head *h);        // is it the same kernel?
uint32_t code_step(code *c, uint32_t node, uint32_t line); // NONE: runs may not get longer any more
uint32_t code_block(code *c, uint32_t node);               // the block of this run
uint32_t code_name(code *c, const char *name, size_t n);

// ---- text seen before -----------------------------------------------------------------------------
typedef struct seen_run { // a run of lines as it stands in the input
    uint32_t count, npieces;
    struct {
        const char *text;
        uint32_t n, line; // line: whose addresses follow; NONE for the last piece
    } piece[BLOCK_MAX + 1];
} seen_run;
struct reader;

// What was seen of one kernel's text; any of it may be forgotten. One for all kernels of a file: they take
// turns.
#define NEAR (1u << 13)
typedef struct memo {
    const code *of;
    uint32_t near[NEAR][2];  // by PC: the lines seen last there
    struct known_runs *runs; // by their text (known.c)
    struct deltas *deltas;   // lists of addresses by theirs (line.c); NULL: none yet
} memo;
memo *memo_new(void);
void memo_turn(memo *m, const code *of); // of this kernel now: forgets all, unless it was before
void memo_free(memo *m);
void deltas_forget(struct deltas *d);

// Goes on with a run that is known, of at most n lines: how many it was; 0: none.
uint64_t known_run(struct reader *r, uint64_t n);
void known_add(struct reader *r, const seen_run *s, uint32_t block, uint32_t mask, bool open);

// ---- one file -------------------------------------------------------------------------------------
typedef struct reader {
    orr_source source; // first, so that one is the other
    input in;
    code *code;
    memo *memo;
    bool own; // code and memo are freed with the reader
    trace_head head;
    orr_notes notes;
    orr_map *warned; // mnemonics
    uint64_t blocks, done;
    uint32_t nwarps;
    orr_trace_out out;  // all warps of the thread block
    orr_trace_out part; // accesses of the block of code that is being read
    seen_run seen;      // and its text
    struct {
        size_t at, n;
        bool seen;
    } * warp;
    orr_warp_trace *warps;
} reader;

// Opens what `in` holds: reads the header. Takes `in` over. `codes` is a list of kernels that may be found in
// it; one that is not there is added. NULL: the reader has a kernel and a memo of its own.
reader *reader_open(input *in, code **codes, memo *m, orr_notes notes, orr_map *warned, orr_err *e);
void reader_close(reader *r);

// The line at in->at: its instruction. On return *p is behind the static part, *mask its lanes. NONE on
// error. What is not an instruction at all is an error too.
uint32_t line_read(reader *r, const char **p, uint32_t *mask, orr_err *e);
// PC and mask only: false when this does not look like an instruction.
bool line_head(reader *r, const char **p, uint32_t *pc, uint32_t *srcline, uint32_t *mask);
// The addresses that follow the static part, to `out`, and the end of the line. NULL on error, which
// `e` tells if it is not NULL.
const char *line_access(reader *r, const line *l, const char *p, uint32_t mask, orr_trace_out *out,
                        orr_err *e);
bool line_fail(const reader *r, orr_err *e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static inline const char *skip_blanks(const char *p) {
    while (is_blank(*p)) p++;
    return p;
}

#endif
