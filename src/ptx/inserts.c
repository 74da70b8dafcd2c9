// The PTX that instrument.c inserts into kernels.
//
// Lanes that are together (activemask) and say the same act as one: the one that leads takes room in the log.
// What is inserted has neither calls nor branches nor guards; lanes that have nothing to write do so where
// nobody looks. That is not for speed. Whatever parts lanes, guarded stores too, makes the compiler use one
// of the warp's few convergence barriers, and lanes of the warp that are elsewhere may come to use the same
// one before it is free: on an H200 they then wait for each other for ever. And before activemask the
// compiler has lanes yield, so that others may go ahead to where they would have met; code that keeps a value
// for all lanes in a uniform register is wrong then, unless the compiler sees the yield: in a function that
// is called, it does not.
#include "ptx/inserts.h"

#include <string.h>

#include "isa/events.h"

// $NAMES are replaced by numbers: those of isa/events.h, and $NUMBER, what the event is about.
const char ptx_ins_variables[] =
    ".visible .global .align 8 .b64 orr_control[$WORDS];\n"
    ".extern .shared .align 128 .b8 orr_shared[];\n"
    ".global .align 8 .b64 orr_local;\n"; // where the kernel's frame begins, the same for all threads

// At the top of a function: where the log is.
const char ptx_ins_opening[] = "  .reg .b64 %orr_a, %orr_b, %orr_log, %orr_used, %orr_bytes, %orr_no;\n"
                               "  .reg .b32 %orr_warp, %orr_t;\n"
                               "  .reg .pred %orr_p;\n"
                               "  ld.global.b64 %orr_log, [orr_control+$LOG];\n"
                               "  ld.global.b64 %orr_used, [orr_control+$USED];\n"
                               "  ld.global.b64 %orr_bytes, [orr_control+$BYTES];\n";

const char ptx_ins_which[] = // warp, into %orr_warp
    "  {\n"
    "  .reg .b32 %t, %x, %y, %z, %nx, %ny, %nz;\n"
    "  mov.u32 %x, %tid.x;\n"
    "  mov.u32 %y, %tid.y;\n"
    "  mov.u32 %z, %tid.z;\n"
    "  mov.u32 %nx, %ntid.x;\n"
    "  mov.u32 %ny, %ntid.y;\n"
    "  mov.u32 %nz, %ntid.z;\n"
    "  mad.lo.u32 %t, %z, %ny, %y;\n"
    "  mad.lo.u32 %t, %t, %nx, %x;\n"
    "  shr.u32 %t, %t, 5;\n"
    "  mul.lo.u32 %nx, %nx, %ny;\n"
    "  mad.lo.u32 %nx, %nx, %nz, 31;\n"
    "  shr.u32 %nx, %nx, 5;\n"
    "  mov.u32 %x, %ctaid.x;\n"
    "  mad.lo.u32 %orr_warp, %x, %nx, %t;\n"
    "  }\n";

const char ptx_ins_nowhere[] = // into %orr_no, this lane's own
    "  {\n"
    "  .reg .b32 %t, %u;\n"
    "  .reg .b64 %a;\n"
    "  mov.u32 %t, %smid;\n"
    "  and.b32 %t, %t, $SMS;\n"
    "  mov.u32 %u, %laneid;\n"
    "  shl.b32 %t, %t, 5;\n"
    "  add.u32 %t, %t, %u;\n"
    "  mul.wide.u32 %orr_no, %t, 32;\n"
    "  ld.global.b64 %a, [orr_control+$NOWHERE];\n"
    "  add.u64 %orr_no, %orr_no, %a;\n"
    "  }\n";

// %lanes: those of the warp that enter the same block of code; %lead: the first of them.
#define LEAD                                                                                                 \
    "  mov.b32 %block, $NUMBER;\n"                                                                           \
    "  activemask.b32 %lanes;\n"                                                                             \
    "  match.any.sync.b32 %lanes, %block, %lanes;\n"                                                         \
    "  mov.u32 %t, %lanemask_lt;\n"                                                                          \
    "  and.b32 %t, %t, %lanes;\n"                                                                            \
    "  setp.eq.u32 %lead, %t, 0;\n"

const char ptx_ins_enter[] = // lanes enter a block of code
    "  {\n"
    "  .reg .pred %lead;\n"
    "  .reg .b32 %lanes, %block, %t;\n"
    "  .reg .b64 %at, %end, %a, %v, %w;\n" LEAD "  selp.b64 %a, %orr_used, %orr_no, %lead;\n"
    "  selp.b64 %v, 16, 0, %lead;\n"
    "  atom.global.add.u64 %at, [%a], %v;\n"
    "  add.u64 %end, %at, 16;\n"
    "  setp.le.and.u64 %lead, %end, %orr_bytes, %lead;\n"
    "  add.u64 %a, %orr_log, %at;\n"
    "  selp.b64 %a, %a, %orr_no, %lead;\n"
    "  mov.b64 %v, {%block, %lanes};\n"
    "  cvt.u64.u32 %w, %orr_warp;\n"
    "  st.global.v2.b64 [%a], {%v, %w};\n"
    "  }\n";

const char ptx_ins_access[] = // an access: %orr_a is the address, %orr_t is not 0 in lanes that take part
    "  {\n"
    "  .reg .pred %p, %in, %lead, %row, %near, %ok, %q;\n"
    "  .reg .b32 %lanes, %all, %same, %what, %first, %second, %t, %u, %lo, %hi, %rank, %n, %kind;\n"
    "  .reg .b64 %base, %step, %want, %at, %v, %w, %a;\n"
    "  mov.b32 %what, $NUMBER;\n"
    "  activemask.b32 %all;\n"
    "  setp.ne.u32 %in, %orr_t, 0;\n"
    "  match.any.sync.b32 %same, %what, %all;\n"
    "  vote.sync.ballot.b32 %lanes, %in, %all;\n"
    "  and.b32 %lanes, %lanes, %same;\n"
    "  brev.b32 %t, %lanes;\n"
    "  clz.b32 %first, %t;\n"
    "  sub.u32 %u, %lanes, 1;\n"
    "  and.b32 %u, %u, %lanes;\n"
    "  setp.eq.u32 %p, %u, 0;\n"
    "  brev.b32 %u, %u;\n"
    "  clz.b32 %second, %u;\n"
    "  selp.b32 %second, %first, %second, %p;\n"
    "  mov.u32 %t, %laneid;\n"
    "  setp.eq.u32 %lead, %t, %first;\n" // nobody, when no lane took part
    "  mov.u32 %t, %lanemask_lt;\n"
    "  and.b32 %t, %t, %lanes;\n"
    "  popc.b32 %rank, %t;\n"
    "  popc.b32 %n, %lanes;\n"
    "  mov.b64 {%lo, %hi}, %orr_a;\n"
    "  shfl.sync.idx.b32 %t, %lo, %first, 31, %all;\n"
    "  shfl.sync.idx.b32 %u, %hi, %first, 31, %all;\n"
    "  mov.b64 %base, {%t, %u};\n"
    "  not.pred %q, %in;\n"
    "  setp.eq.or.u32 %p, %u, %hi, %q;\n"
    "  vote.sync.ballot.b32 %t, %p, %all;\n"
    "  and.b32 %t, %t, %same;\n"
    "  setp.eq.u32 %near, %t, %same;\n"
    "  shfl.sync.idx.b32 %t, %lo, %second, 31, %all;\n"
    "  shfl.sync.idx.b32 %u, %hi, %second, 31, %all;\n"
    "  mov.b64 %step, {%t, %u};\n"
    "  sub.u64 %step, %step, %base;\n"
    "  cvt.u64.u32 %want, %rank;\n"
    "  mad.lo.u64 %want, %want, %step, %base;\n"
    "  setp.eq.or.u64 %p, %want, %orr_a, %q;\n"
    "  vote.sync.ballot.b32 %t, %p, %all;\n"
    "  and.b32 %t, %t, %same;\n"
    "  setp.eq.u32 %row, %t, %same;\n"
    "  shl.b32 %t, %n, 2;\n" // near: 16 + 8 + 4 n, far: 16 + 8 n, to the next 16
    "  add.u32 %t, %t, 39;\n"
    "  shl.b32 %u, %n, 3;\n"
    "  add.u32 %u, %u, 31;\n"
    "  selp.b32 %t, %t, %u, %near;\n"
    "  and.b32 %t, %t, 0xfffffff0;\n"
    "  selp.b32 %t, 32, %t, %row;\n"
    "  cvt.u64.u32 %w, %t;\n"
    "  selp.b64 %a, %orr_used, %orr_no, %lead;\n"
    "  selp.b64 %v, %w, 0, %lead;\n"
    "  atom.global.add.u64 %at, [%a], %v;\n"
    "  mov.b64 {%t, %u}, %at;\n"
    "  shfl.sync.idx.b32 %t, %t, %first, 31, %all;\n"
    "  shfl.sync.idx.b32 %u, %u, %first, 31, %all;\n"
    "  mov.b64 %at, {%t, %u};\n"
    "  add.u64 %v, %at, %w;\n"
    "  setp.le.u64 %ok, %v, %orr_bytes;\n"
    "  and.pred %lead, %lead, %ok;\n"
    "  and.pred %in, %in, %ok;\n"
    "  add.u64 %a, %orr_log, %at;\n"
    "  selp.b32 %kind, $NEAR, $FAR, %near;\n"
    "  selp.b32 %kind, $REGULAR, %kind, %row;\n"
    "  or.b32 %kind, %kind, %what;\n"
    "  mov.b64 %v, {%kind, %lanes};\n"
    "  cvt.u64.u32 %w, %orr_warp;\n"
    "  selp.b64 %at, %a, %orr_no, %lead;\n" // the head
    "  st.global.v2.b64 [%at], {%v, %w};\n"
    "  or.pred %p, %row, %near;\n" // the first lane's address, or what all have in common
    "  and.pred %p, %p, %lead;\n"
    "  selp.b64 %at, %a, %orr_no, %p;\n"
    "  cvt.u64.u32 %v, %hi;\n"
    "  selp.b64 %v, %base, %v, %row;\n"
    "  st.global.b64 [%at+16], %v;\n"
    "  and.pred %p, %row, %lead;\n"
    "  selp.b64 %at, %a, %orr_no, %p;\n"
    "  st.global.b64 [%at+24], %step;\n"
    "  not.pred %row, %row;\n" // each lane's own
    "  and.pred %in, %in, %row;\n"
    "  and.pred %p, %in, %near;\n"
    "  mul.wide.u32 %v, %rank, 4;\n"
    "  add.u64 %v, %v, %a;\n"
    "  selp.b64 %v, %v, %orr_no, %p;\n"
    "  st.global.b32 [%v+24], %lo;\n"
    "  not.pred %near, %near;\n"
    "  and.pred %p, %in, %near;\n"
    "  mul.wide.u32 %v, %rank, 8;\n"
    "  add.u64 %v, %v, %a;\n"
    "  selp.b64 %v, %v, %orr_no, %p;\n"
    "  st.global.b64 [%v+16], %orr_a;\n"
    "  }\n";

// %orr_a, an address in local memory, as an offset in the function's own frame if it is in its variable %own,
// otherwise in the kernel's.
const char ptx_ins_in_frame[] = "  .reg .pred %p;\n"
                                "  .reg .b64 %a, %b;\n"
                                "  ld.global.b64 %a, [orr_local];\n"
                                "  sub.u64 %b, %orr_a, %a;\n"
                                "  sub.u64 %a, %orr_a, %own;\n"
                                "  setp.lt.u64 %p, %a, %bytes;\n"
                                "  add.u64 %a, %a, %offset;\n"
                                "  add.u64 %a, %a, $OWN;\n"
                                "  selp.b64 %orr_a, %a, %b, %p;\n";

// A block of code is entered: %orr_a is where its counts are, %orr_tb where the thread block's. $NUMBER is
// how many instructions it has.
const char ptx_ins_count[] = "  {\n"
                             "  .reg .pred %lead;\n"
                             "  .reg .b32 %lanes, %t;\n"
                             "  .reg .b64 %v, %w, %c, %b;\n"
                             "  activemask.b32 %lanes;\n"
                             "  match.any.sync.b64 %lanes, %orr_a, %lanes;\n"
                             "  mov.u32 %t, %lanemask_lt;\n"
                             "  and.b32 %t, %t, %lanes;\n"
                             "  setp.eq.u32 %lead, %t, 0;\n"
                             "  selp.b64 %c, %orr_a, %orr_no, %lead;\n"
                             "  selp.b64 %b, %orr_tb, %orr_no, %lead;\n"
                             "  mov.b64 %v, 1;\n"
                             "  red.global.add.u64 [%c], %v;\n"
                             "  popc.b32 %t, %lanes;\n"
                             "  cvt.u64.u32 %v, %t;\n"
                             "  red.global.add.u64 [%c+8], %v;\n"
                             "  mul.lo.u64 %w, %v, $NUMBER;\n"
                             "  mov.b64 %v, $NUMBER;\n" // instructions
                             "  red.global.add.u64 [%b], %v;\n"
                             "  red.global.add.u64 [%b+8], %w;\n"
                             "  }\n";

// An access, counted: %orr_a is the address, %orr_t is not 0 in lanes that take part. Lanes whose addresses
// agree from bit $NUMBER on ask for the same lines, $REQUESTS of them.
const char ptx_ins_lines[] = "  {\n"
                             "  .reg .pred %in, %one;\n"
                             "  .reg .b32 %all, %same, %t;\n"
                             "  .reg .b64 %v, %b;\n"
                             "  activemask.b32 %all;\n"
                             "  setp.ne.u32 %in, %orr_t, 0;\n"
                             "  shr.u64 %v, %orr_a, $NUMBER;\n"
                             "  match.any.sync.b64 %same, %v, %all;\n"
                             "  vote.sync.ballot.b32 %t, %in, %all;\n"
                             "  and.b32 %same, %same, %t;\n"
                             "  mov.u32 %t, %lanemask_lt;\n"
                             "  and.b32 %t, %t, %same;\n"
                             "  setp.eq.and.u32 %one, %t, 0, %in;\n"
                             "  selp.b64 %v, $REQUESTS, 0, %one;\n"
                             "  selp.b64 %b, %orr_tb, %orr_no, %one;\n"
                             "  red.global.add.u64 [%b+16], %v;\n"
                             "  }\n";

// A block of code is entered, counted with clocks: %orr_a is where its counts are, %orr_b its row of the
// table.
const char ptx_ins_tally[] =
    "  {\n"
    "  .reg .pred %lead, %p;\n"
    "  .reg .b32 %lanes, %block, %t, %from, %way, %w, %f0, %f1, %f2, %w0, %w1, %w2, %w3, %no;\n"
    "  .reg .b64 %v, %a, %c;\n" LEAD "  selp.b64 %a, %orr_cell, %orr_no, %lead;\n"
    "  add.u32 %t, %block, 1;\n"
    "  atom.global.exch.b32 %from, [%a+16], %t;\n"
    "  ld.global.v4.u32 {%f0, %f1, %f2, %w0}, [%orr_b];\n"
    "  ld.global.v4.u32 {%w1, %w2, %w3, %no}, [%orr_b+16];\n"
    "  mov.b32 %way, 24;\n"
    "  mov.b32 %w, %w3;\n"
    "  setp.eq.u32 %p, %from, %f2;\n"
    "  selp.b32 %way, 16, %way, %p;\n"
    "  selp.b32 %w, %w2, %w, %p;\n"
    "  setp.eq.u32 %p, %from, %f1;\n"
    "  selp.b32 %way, 8, %way, %p;\n"
    "  selp.b32 %w, %w1, %w, %p;\n"
    "  setp.eq.u32 %p, %from, %f0;\n"
    "  selp.b32 %way, 0, %way, %p;\n"
    "  selp.b32 %w, %w0, %w, %p;\n"
    "  cvt.u64.u32 %v, %w;\n"
    "  red.global.add.u64 [%a], %v;\n"
    "  red.global.add.u64 [%a+8], %v;\n"
    "  cvt.u64.u32 %c, %way;\n"
    "  add.u64 %c, %c, %orr_a;\n"
    "  selp.b64 %c, %c, %orr_no, %lead;\n"
    "  mov.b64 %v, 1;\n"
    "  red.global.add.u64 [%c], %v;\n"
    "  popc.b32 %t, %lanes;\n"
    "  cvt.u64.u32 %v, %t;\n"
    "  selp.b64 %c, %orr_a, %orr_no, %lead;\n"
    "  selp.b64 %a, 32, 0, %lead;\n" // lanes are behind the runs
    "  add.u64 %c, %c, %a;\n"
    "  red.global.add.u64 [%c], %v;\n"
    "  }\n";

// Around a barrier for the whole block: warps leave their clocks, and have the latest of them behind it.
const char ptx_ins_arrive[] = "  {\n"
                              "  .reg .b64 %v, %a;\n"
                              "  mov.b64 %v, 0;\n"
                              "  atom.global.add.u64 %v, [%orr_cell], %v;\n"
                              "  add.u64 %a, %orr_tb, %orr_phase;\n"
                              "  red.global.max.u64 [%a], %v;\n"
                              "  }\n";
const char ptx_ins_leave[] = "  {\n"
                             "  .reg .b64 %v, %a;\n"
                             "  add.u64 %a, %orr_tb, %orr_phase;\n"
                             "  ld.volatile.global.u64 %v, [%a];\n"
                             "  red.global.max.u64 [%orr_cell], %v;\n"
                             "  xor.b64 %orr_phase, %orr_phase, 8;\n"
                             "  }\n";

void ptx_insert(const char *text, unsigned number, unsigned requests, orr_text *out) {
    const struct {
        const char *name;
        unsigned long long value;
    } names[] = {
        {"WORDS", ORR_CONTROL_WORDS},
        {"LOG", ORR_CONTROL_LOG * 8},
        {"BYTES", ORR_CONTROL_BYTES * 8},
        {"USED", ORR_CONTROL_USED * 8},
        {"NOWHERE", ORR_CONTROL_NOWHERE * 8},
        {"SMS", ORR_NOWHERE_SMS - 1},
        {"REGULAR", (unsigned)ORR_EVENT_REGULAR << 30},
        {"NEAR", (unsigned)ORR_EVENT_NEAR << 30},
        {"FAR", (unsigned)ORR_EVENT_FAR << 30},
        {"OWN", ORR_EVENT_OWN_FRAME},
        {"NUMBER", number},
        {"REQUESTS", requests},
    };
    for (const char *s = text; *s;) {
        size_t plain = strcspn(s, "$");
        orr_text_addn(out, s, plain);
        s += plain;
        if (!*s) break;
        size_t n = strspn(++s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i].name) == n && !memcmp(names[i].name, s, n))
                orr_text_add(out, "%llu", names[i].value);
        s += n;
    }
}
