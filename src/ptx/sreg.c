// The special registers (PTX ISA, "Special Registers").
#include <string.h>

#include "ptx/ast.h"

#define XYZ(name, id)                                                                                        \
    {"%" name ".x", ORR_SREG_##id##_X, 4}, {"%" name ".y", ORR_SREG_##id##_Y, 4}, {                          \
        "%" name ".z", ORR_SREG_##id##_Z, 4                                                                  \
    }
const ptx_sreg ptx_sregs[] = {
    XYZ("tid", TID),
    XYZ("ntid", NTID),
    XYZ("ctaid", CTAID),
    XYZ("nctaid", NCTAID),
    XYZ("clusterid", CLUSTERID),
    XYZ("nclusterid", NCLUSTERID),
    XYZ("cluster_ctaid", CLUSTER_CTAID),
    XYZ("cluster_nctaid", CLUSTER_NCTAID),
    {"%cluster_ctarank", ORR_SREG_CLUSTER_CTARANK, 4},
    {"%cluster_nctarank", ORR_SREG_CLUSTER_NCTARANK, 4},
    {"%is_explicit_cluster", ORR_SREG_CLUSTER_EXPLICIT, 0},
    {"%laneid", ORR_SREG_LANEID, 4},
    {"%warpid", ORR_SREG_WARPID, 4},
    {"%nwarpid", ORR_SREG_NWARPID, 4},
    {"%smid", ORR_SREG_SMID, 4},
    {"%nsmid", ORR_SREG_NSMID, 4},
    {"%gridid", ORR_SREG_GRIDID, 8},
    {"%lanemask_eq", ORR_SREG_LANEMASK_EQ, 4},
    {"%lanemask_le", ORR_SREG_LANEMASK_LE, 4},
    {"%lanemask_lt", ORR_SREG_LANEMASK_LT, 4},
    {"%lanemask_ge", ORR_SREG_LANEMASK_GE, 4},
    {"%lanemask_gt", ORR_SREG_LANEMASK_GT, 4},
    {"%clock", ORR_SREG_CLOCK, 4},
    {"%clock_hi", ORR_SREG_CLOCK_HI, 4},
    {"%clock64", ORR_SREG_CLOCK64, 8},
    {"%globaltimer", ORR_SREG_GLOBALTIMER, 8},
    {"%globaltimer_lo", ORR_SREG_GLOBALTIMER_LO, 4},
    {"%globaltimer_hi", ORR_SREG_GLOBALTIMER_HI, 4},
    {"%total_smem_size", ORR_SREG_TOTAL_SMEM, 4},
    {"%dynamic_smem_size", ORR_SREG_DYNAMIC_SMEM, 4},
    {"%aggr_smem_size", ORR_SREG_AGGR_SMEM, 4},
    {"%reserved_smem_offset_begin", ORR_SREG_RESERVED_SMEM, 4},
    {"%reserved_smem_offset_end", ORR_SREG_RESERVED_SMEM_END, 4},
    {"%reserved_smem_offset_cap", ORR_SREG_RESERVED_SMEM_SIZE, 4},
    {"%reserved_smem_offset_0", ORR_SREG_RESERVED_SMEM, 4},
    {"%reserved_smem_offset_1", ORR_SREG_RESERVED_SMEM_1, 4},
    {"%current_graph_exec", ORR_SREG_ENVREG, 8},
    {"%envreg1", ORR_SREG_ENVREG_1, 4},
    {"%envreg2", ORR_SREG_ENVREG_2, 4},
    {"%envreg", ORR_SREG_ENVREG, 4}, // and the numbered families
    {"%pm", ORR_SREG_PM, 4},
    {"%pm_64", ORR_SREG_PM, 8},
    {NULL, 0, 0},
};

// The name without the number of a family: "%envreg7" -> "%envreg", "%pm3_64" -> "%pm_64".
static bool family(const char *s, size_t n, const char *stem, const char *tail, unsigned count) {
    size_t stem_n = strlen(stem), tail_n = strlen(tail);
    if (n <= stem_n + tail_n || memcmp(s, stem, stem_n) != 0 || memcmp(s + n - tail_n, tail, tail_n) != 0)
        return false;
    unsigned v = 0;
    size_t digits = n - stem_n - tail_n;
    if (digits > 2) return false;
    for (size_t i = 0; i < digits; i++) {
        char c = s[stem_n + i];
        if (c < '0' || c > '9') return false;
        v = v * 10 + (unsigned)(c - '0');
    }
    return v < count;
}

uint16_t ptx_sreg_number(const char *s, size_t n) {
    size_t stem = family(s, n, "%envreg", "", 32)                               ? 7
                  : family(s, n, "%pm", "_64", 8) || family(s, n, "%pm", "", 8) ? 3
                                                                                : n;
    unsigned v = 0;
    for (; stem < n && s[stem] >= '0' && s[stem] <= '9'; stem++) v = v * 10 + (unsigned)(s[stem] - '0');
    return (uint16_t)v;
}

int ptx_sreg_find(const char *s, size_t n) {
    if (n < 3 || n > 40 || s[0] != '%') return -1;
    if (family(s, n, "%envreg", "", 32) && !(n == 8 && (s[7] == '1' || s[7] == '2')))
        s = "%envreg", n = strlen(s);
    else if (family(s, n, "%pm", "_64", 8))
        s = "%pm_64", n = strlen(s);
    else if (family(s, n, "%pm", "", 8))
        s = "%pm", n = strlen(s);
    for (int i = 0; ptx_sregs[i].name; i++)
        if (strlen(ptx_sregs[i].name) == n && memcmp(ptx_sregs[i].name, s, n) == 0) return i;
    return -1;
}
