// The coalescer: from the addresses of a warp's lanes to the lines and sectors they touch.
//
// Most accesses are regular, so three ways, the cheapest that fits:
//   one stride of 0..32 bytes over all lanes    the sectors are one unbroken run: no lane is looked at
//   addresses that do not fall                  only the last two lines can be touched again
//   anything else                               a small hash table of the lines seen
// The first touch decides a line's place in the list, so all three give the same list.
#include "memory/memory.h"

#include <string.h>

// ---- one unbroken run of bytes ----------------------------------------------------------------
// Sector `s` counted from address 0 lies in line s / 4.
static void run_of_sectors(uint64_t first, uint64_t last, orr_coalesced *out) {
    uint64_t sector = first / ORR_SECTOR, end = last / ORR_SECTOR;
    out->sectors += (uint32_t)(end - sector + 1);
    for (uint64_t line = sector / 4; line <= end / 4; line++) {
        unsigned lo = line == sector / 4 ? sector % 4 : 0, hi = line == end / 4 ? end % 4 : 3;
        out->line[out->lines++] = (orr_line_access){line, (uint8_t)(0xf >> (3 - hi) & 0xf << lo)};
    }
}

// A full warp whose lanes are 0..32 bytes apart, not wrapping: the run it covers.
static bool is_run(const orr_access *a, uint32_t bytes, uint64_t *first, uint64_t *last) {
    if (a->mask != 0xffffffffu) return false;
    uint64_t base = a->addr[0], stride = a->addr[1] - base, off = 0;
    if (stride > ORR_SECTOR) return false;
    for (int i = 0; i < ORR_WARP; i++) off |= a->addr[i] ^ (base + (uint64_t)i * stride);
    *first = base;
    *last = base + 31 * stride + bytes - 1;
    return off == 0 && *last >= base;
}

// ---- lane by lane -------------------------------------------------------------------------------
typedef struct touch { // what one lane touches: one line, or two that follow each other
    uint64_t line[2];
    uint8_t sectors[2];
    int n;
} touch;

static touch touched(uint64_t addr, uint32_t bytes) {
    uint32_t lo = addr % ORR_LINE / ORR_SECTOR, hi = (uint32_t)(addr % ORR_LINE + bytes - 1) / ORR_SECTOR;
    touch t = {{addr / ORR_LINE, (addr / ORR_LINE + 1) & (UINT64_MAX / ORR_LINE)}, {0, 0}, hi > 3 ? 2 : 1};
    uint32_t bits = (0xffu >> (7 - hi)) & (0xffu << lo);
    t.sectors[0] = bits & 0xf;
    t.sectors[1] = (uint8_t)(bits >> 4);
    return t;
}

static void add_rising(const orr_access *a, uint32_t mask, uint32_t bytes, orr_coalesced *out) {
    uint32_t begin = out->lines;
    for (uint32_t m = mask; m; m &= m - 1) {
        touch t = touched(a->addr[orr_ffs(m)], bytes);
        for (int k = 0; k < t.n; k++) {
            uint32_t n = out->lines, at = n;
            if (n > begin && out->line[n - 1].line == t.line[k])
                at = n - 1;
            else if (n > begin + 1 && out->line[n - 2].line == t.line[k])
                at = n - 2;
            else
                out->line[out->lines++] = (orr_line_access){t.line[k], 0};
            out->line[at].sectors |= t.sectors[k];
        }
    }
}

static void add_any(const orr_access *a, uint32_t mask, uint32_t bytes, orr_coalesced *out) {
    uint8_t slot[128] = {0}; // index in the list + 1; at most half full: 32 lanes, two lines each
    uint32_t begin = out->lines;
    for (uint32_t m = mask; m; m &= m - 1) {
        touch t = touched(a->addr[orr_ffs(m)], bytes);
        for (int k = 0; k < t.n; k++) {
            uint32_t h = (uint32_t)((t.line[k] * 0x9e3779b97f4a7c15u) >> 57);
            while (slot[h] && out->line[begin + slot[h] - 1].line != t.line[k])
                h = (h + 1) % 128;
            if (!slot[h]) {
                out->line[out->lines++] = (orr_line_access){t.line[k], 0};
                slot[h] = (uint8_t)(out->lines - begin);
            }
            out->line[begin + slot[h] - 1].sectors |= t.sectors[k];
        }
    }
}

static void add_group(const orr_access *a, uint32_t mask, uint32_t bytes, orr_coalesced *out) {
    if (!mask) return;
    bool rising = true;
    uint64_t last = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint64_t at = a->addr[orr_ffs(m)];
        rising &= at >= last && at + (bytes - 1) >= at; // and does not wrap
        last = at;
    }
    uint32_t begin = out->lines;
    if (rising)
        add_rising(a, mask, bytes, out);
    else
        add_any(a, mask, bytes, out);
    for (uint32_t i = begin; i < out->lines; i++) out->sectors += (uint32_t)orr_popc(out->line[i].sectors);
    out->requests++;
}

void orr_coalesce(const orr_access *a, uint32_t bytes, enum orr_coalescing how, orr_coalesced *out) {
    out->requests = out->lines = out->sectors = 0;
    bytes = bytes > ORR_LANE_BYTES_MAX ? ORR_LANE_BYTES_MAX : bytes ? bytes : 1;
    uint64_t first, last;
    if (how == ORR_WHOLE_WARP && is_run(a, bytes, &first, &last)) {
        run_of_sectors(first, last, out);
        out->requests = 1;
        return;
    }
    uint32_t group = how == ORR_WHOLE_WARP ? 0xffffffffu : (1u << how) - 1;
    for (int lane = 0; lane < ORR_WARP; lane += (int)how) add_group(a, a->mask & group << lane, bytes, out);
}

// ---- local memory -------------------------------------------------------------------------------
// Word by word, because a lane's words lie in different rows. A row is a line of its own, so the
// words of one lane never share a line; lanes at different offsets may.
void orr_coalesce_local(const orr_access *a, uint32_t bytes, orr_coalesced *out) {
    out->requests = out->lines = out->sectors = 0;
    bytes = bytes > ORR_LANE_BYTES_MAX ? ORR_LANE_BYTES_MAX : bytes ? bytes : 1;
    if (!a->mask) return;
    out->requests = 1;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int lane = orr_ffs(m);
        uint32_t rows = (uint32_t)(a->addr[lane] % 4 + bytes + 3) / 4;
        for (uint32_t r = 0; r < rows; r++) {
            uint64_t row = a->addr[lane] / 4 + r;
            uint32_t i = 0;
            while (i < out->lines && out->line[i].line != row) i++;
            if (i == out->lines) out->line[out->lines++] = (orr_line_access){row, 0};
            out->line[i].sectors |= (uint8_t)(1 << lane / 8);
        }
    }
    for (uint32_t i = 0; i < out->lines; i++) out->sectors += (uint32_t)orr_popc(out->line[i].sectors);
}

// ---- shared memory banks ------------------------------------------------------------------------
// The most passes any bank needs for these lanes: distinct words on it, or lanes for atomics.
static uint32_t degree(const uint32_t *word, uint32_t n, bool atomic) {
    uint8_t count[32] = {0}, head[32]; // words seen on a bank, chained through next
    uint8_t next[64];
    uint32_t most = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bank = word[i] % 32, chain = count[bank] ? head[bank] : 0, left = count[bank];
        if (!atomic)
            for (; left && word[chain] != word[i]; left--) chain = next[chain];
        else
            left = 0;
        if (left) continue; // broadcast
        next[i] = head[bank];
        head[bank] = (uint8_t)i;
        if (++count[bank] > most) most = count[bank];
    }
    return most;
}

orr_banked orr_bank_conflicts(const orr_access *a, uint32_t bytes, bool atomic) {
    orr_banked r = {0, 0, 0};
    uint32_t words = (bytes + 3) / 4;
    if (words < 1) words = 1;
    if (words > 32) words = 32;
    uint32_t lanes = 1; // in a phase: as many as bring 32 words
    while (lanes * 2 * words <= 32) lanes *= 2;
    for (uint32_t from = 0; from < ORR_WARP; from += lanes) {
        uint32_t word[64], n = 0;
        uint32_t group = lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << from;
        for (uint32_t m = a->mask & group; m; m &= m - 1)
            for (uint32_t w = 0; w < words; w++) word[n++] = (uint32_t)(a->addr[orr_ffs(m)] / 4 + w);
        if (!n) continue;
        r.phases++;
        r.passes += degree(word, n, atomic);
    }
    r.conflicts = r.passes - r.phases;
    return r;
}
