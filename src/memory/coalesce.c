// The coalescer: from the addresses of a warp's lanes to the lines and sectors they touch.
//
// Most accesses are regular, so four ways, the cheapest that fits:
//   one stride of 0..32 bytes over all lanes    the sectors are one unbroken run: no lane is looked at
//   sectors that do not fall                    a line, once left, does not come back
//   sectors in any order                        a small hash table of the lines seen
//   a lane that crosses a sector                the same table, two lines a lane
// The first touch decides a line's place in the list, so all four give the same list.
#include "memory/memory.h"

#include <string.h>

// Bits set in four: a number whose 16 digits say it, since counting is slow on a plain x86-64.
static uint32_t bits_of(uint8_t four) { return (uint32_t)(0x4332322132212110u >> 4 * (four & 15)) & 15; }

// The addresses of these lanes, side by side.
static uint32_t active(const orr_access *a, uint32_t mask, uint64_t to[ORR_WARP]) {
    if (mask == 0xffffffffu) {
        memcpy(to, a->addr, sizeof a->addr);
        return ORR_WARP;
    }
    uint32_t n = 0;
    for (uint32_t m = mask; m; m &= m - 1) to[n++] = a->addr[orr_ffs(m)];
    return n;
}

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
    for (int i = 0; i < ORR_WARP - 1; i++) off |= (a->addr[i + 1] - a->addr[i]) ^ stride;
    *first = base;
    *last = base + 31 * stride + bytes - 1;
    return off == 0 && *last >= base;
}

// ---- lane by lane -------------------------------------------------------------------------------
// Each lane in one sector, in rising order. Without branches: every lane writes the line it is in, and
// the list moves on when the line changes.
static uint32_t add_rising(const uint64_t *sector, uint32_t n, orr_line_access *to) {
    uint64_t line = sector[0] / 4; // NOLINT(clang-analyzer-core*): a group has at least one lane
    uint8_t bits = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t l = sector[i] / 4;
        bool moved = l != line;
        at += moved;
        bits = (uint8_t)((moved ? 0 : bits) | 1u << sector[i] % 4);
        line = l;
        to[at] = (orr_line_access){l, bits};
    }
    return at + 1;
}

typedef struct table { // of lines seen; at most half full, since 32 lanes touch at most 64
    uint8_t slot[128]; // index in the list + 1
} table;

static void touch(table *t, orr_line_access *to, uint32_t *n, uint64_t line, uint32_t sectors) {
    uint32_t h = (uint32_t)((line * 0x9e3779b97f4a7c15u) >> 57);
    while (t->slot[h] && to[t->slot[h] - 1].line != line) h = (h + 1) % 128;
    if (!t->slot[h]) {
        to[(*n)++] = (orr_line_access){line, 0};
        t->slot[h] = (uint8_t)*n;
    }
    to[t->slot[h] - 1].sectors |= (uint8_t)sectors;
}

static uint32_t add_any(const uint64_t *sector, uint32_t count, orr_line_access *to) {
    table t = {{0}};
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) touch(&t, to, &n, sector[i] / 4, 1u << sector[i] % 4);
    return n;
}

// A lane may touch several sectors, of one line or of two that follow each other.
static uint32_t add_crossing(const orr_access *a, uint32_t mask, uint32_t bytes, orr_line_access *to) {
    table t = {{0}};
    uint32_t n = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint64_t addr = a->addr[orr_ffs(m)], line = addr / ORR_LINE;
        uint32_t lo = addr % ORR_LINE / ORR_SECTOR, hi = (uint32_t)(addr % ORR_LINE + bytes - 1) / ORR_SECTOR;
        uint32_t bits = (0xffu >> (7 - hi)) & (0xffu << lo);
        touch(&t, to, &n, line, bits & 0xf);
        if (bits >> 4) touch(&t, to, &n, (line + 1) & (UINT64_MAX / ORR_LINE), bits >> 4);
    }
    return n;
}

// A full warp whose lanes are each in a line of its own, in rising order, as lanes that walk rows are. False:
// it is not like that. Loops of a known length are vector code.
static bool add_apart(const orr_access *a, uint32_t bytes, orr_coalesced *out) {
    uint64_t beyond = 0, rises = 1;
    for (int i = 0; i < ORR_WARP; i++) beyond |= (a->addr[i] % ORR_SECTOR + bytes - 1) / ORR_SECTOR;
    for (int i = 1; i < ORR_WARP; i++) rises &= a->addr[i] / ORR_LINE > a->addr[i - 1] / ORR_LINE;
    if (beyond || !rises) return false;
    orr_line_access *to = out->line + out->lines;
    for (int i = 0; i < ORR_WARP; i++)
        to[i] = (orr_line_access){a->addr[i] / ORR_LINE, (uint8_t)(1u << a->addr[i] / ORR_SECTOR % 4)};
    out->sectors += ORR_WARP;
    out->lines += ORR_WARP;
    out->requests++;
    return true;
}

static void add_group(const orr_access *a, uint32_t mask, uint32_t bytes, orr_coalesced *out) {
    if (!mask || (mask == 0xffffffffu && add_apart(a, bytes, out))) return;
    uint64_t at[ORR_WARP], sector[ORR_WARP], crossing = 0, falling = 0;
    uint32_t n = active(a, mask, at);
    for (uint32_t i = 0; i < n; i++) {
        sector[i] = at[i] / ORR_SECTOR;
        crossing |= at[i] % ORR_SECTOR + bytes > ORR_SECTOR;
    }
    for (uint32_t i = 1; i < n; i++) falling |= sector[i] < sector[i - 1];
    orr_line_access *to = out->line + out->lines;
    uint32_t lines = crossing  ? add_crossing(a, mask, bytes, to)
                     : falling ? add_any(sector, n, to)
                               : add_rising(sector, n, to);
    for (uint32_t i = 0; i < lines; i++) out->sectors += bits_of(to[i].sectors);
    out->lines += lines;
    out->requests++;
}

void orr_coalesce(const orr_access *a, uint32_t bytes, enum orr_coalescing how, orr_coalesced *out) {
    out->requests = out->lines = out->sectors = 0;
    out->again = out->more = ORR_LINES_MAX;
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

// ---- copies past L1 -----------------------------------------------------------------------------
// Piece p of a line (of 16 bytes) lands at (p - d) % 8, with the same d for a row that is copied: in the next
// 128 bytes where p >= d, and with an odd d the halves of a sector do not stay together. Pieces that land at
// p ^ row, as Triton and CUTLASS lay tiles out, change places within their 128 bytes: they are fetched like
// any load.
void orr_coalesce_copy(const orr_access *a, orr_coalesced *out) {
    orr_access plain = {.mask = a->mask};
    uint32_t part[4] = {0}; // first halves and what stays together, by 128 bytes; second halves
    uint64_t marked = UINT64_MAX, line = UINT64_MAX;
    uint32_t last_d = 0, last_x = 0;
    bool swapped = false, moved = false;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int lane = orr_ffs(m);
        uint64_t addr = a->addr[lane];
        uint32_t p = (uint32_t)(addr / 16 % 8), to = (uint32_t)addr % 8, d = (p - to) % 8, x = p ^ to;
        marked &= addr;
        if (addr / ORR_LINE == line) {
            swapped |= d != last_d;
            moved |= x != last_x;
        }
        line = addr / ORR_LINE;
        last_d = d;
        last_x = x;
        plain.addr[lane] = addr & ~15ull;
        part[(d & p & 1) * 2 + (p < d)] |= m & -m;
    }
    if ((swapped && !moved) || !(marked & 8)) { // or a trace that does not say it
        orr_coalesce(&plain, 16, ORR_WHOLE_WARP, out);
        return;
    }
    out->lines = out->sectors = 0;
    add_group(&plain, part[0], 16, out);
    add_group(&plain, part[1], 16, out);
    uint32_t sectors = out->sectors, first = out->again = out->lines;
    add_group(&plain, part[2], 16, out);
    out->more = out->lines;
    add_group(&plain, part[3], 16, out);
    for (uint32_t i = out->more; i < out->lines; i++) { // lines that have none of the third part
        uint32_t k = first;
        while (k < out->more && out->line[k].line != out->line[i].line) k++;
        if (k < out->more) continue;
        orr_line_access l = out->line[i];
        out->line[i] = out->line[out->more];
        out->line[out->more++] = l;
    }
    out->sectors = sectors + out->more - first;
    out->requests = a->mask != 0;
}

// ---- local memory -------------------------------------------------------------------------------
// Word by word, because a lane's words lie in different rows. A row is a line of its own, so the
// words of one lane never share a line; lanes at different offsets may.
void orr_coalesce_local(const orr_access *a, uint32_t bytes, orr_coalesced *out) {
    out->requests = out->lines = out->sectors = 0;
    out->again = out->more = ORR_LINES_MAX;
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
    for (uint32_t i = 0; i < out->lines; i++) out->sectors += bits_of(out->line[i].sectors);
}

// The row that is the line's number `line`, as orr_coalesce_local comes to them.
static uint64_t row_of(const orr_access *a, uint32_t bytes, uint32_t line) {
    uint64_t rows[ORR_LINES_MAX];
    uint32_t n = 0;
    for (uint32_t m = a->mask; m; m &= m - 1)
        for (uint64_t at = a->addr[orr_ffs(m)], r = at / 4; r * 4 < at + bytes; r++) {
            uint32_t i = 0;
            while (i < n && rows[i] != r) i++;
            if (i < n) continue;
            if (n == line) return r;
            rows[n++] = r;
        }
    return UINT64_MAX / 8; // there are not so many
}

// A word of a lane is at its place in the row: 4 bytes of the lane's own.
void orr_local_bytes(const orr_access *a, uint32_t bytes, uint32_t line, uint64_t written[2]) {
    bytes = bytes > ORR_LANE_BYTES_MAX ? ORR_LANE_BYTES_MAX : bytes ? bytes : 1;
    uint64_t first = row_of(a, bytes, line) * 4;
    written[0] = written[1] = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m);
        uint64_t from = a->addr[lane], end = from + bytes;
        if (from < first) from = first;
        if (end > first + 4) end = first + 4;
        if (from < end) written[lane / 16] |= ((1ull << (end - from)) - 1) << (lane % 16 * 4 + from - first);
    }
}

// ---- shared memory banks ------------------------------------------------------------------------
// The most passes any bank needs for these words: distinct words on it, or all of them for atomics. Of a few:
static uint32_t degree_of_few(const uint32_t *word, uint32_t n, bool atomic) {
    uint32_t most = 1, counted = 1; // bits of words that take a pass
    for (uint32_t i = 1; i < n; i++) {
        uint32_t passes = 1;
        bool again = false;
        for (uint32_t k = 0; k < i; k++) {
            again |= word[k] == word[i];
            passes += counted >> k & !((word[k] ^ word[i]) % 32);
        }
        if (again && !atomic) continue;
        counted |= 1u << i;
        if (passes > most) most = passes;
    }
    return most;
}

static uint32_t degree_of_atomics(const uint32_t *word, uint32_t n) {
    uint8_t count[32] = {0};
    uint32_t most = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = ++count[word[i] % 32];
        if (c > most) most = c;
    }
    return most;
}

// Pass by pass: each bank serves one word, to all who want it.
static uint32_t degree_of_words(const uint32_t *word, uint32_t n) {
    uint32_t rest[64], serves[32], passes = 0;
    do {
        uint32_t left = 0;
        for (uint32_t i = 0; i < n; i++) serves[word[i] % 32] = word[i];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t w = word[i];
            rest[left] = w;
            left += serves[w % 32] != w;
        }
        word = rest;
        n = left;
        passes++;
    } while (n);
    return passes;
}

static uint32_t degree(const uint32_t *word, uint32_t n, bool atomic) {
    if (n <= 4) return degree_of_few(word, n, atomic);
    return atomic ? degree_of_atomics(word, n) : degree_of_words(word, n);
}

// A full warp at one stride: lanes whose distance times the stride is a multiple of 32 words meet on a bank,
// so gcd(stride, 32) of them; at stride 0 all want the same word.
static bool is_strided(const orr_access *a, uint32_t *passes) {
    uint32_t word[ORR_WARP], off = 0;
    if (a->mask != 0xffffffffu) return false;
    for (int i = 0; i < ORR_WARP; i++) word[i] = (uint32_t)(a->addr[i] / 4);
    uint32_t stride = word[1] - word[0], gcd = stride & (0 - stride);
    for (int i = 0; i < ORR_WARP - 1; i++) off |= (word[i + 1] - word[i]) ^ stride;
    *passes = stride == 0 ? 1 : gcd > 32 ? 32 : gcd;
    return off == 0;
}

// Lanes 2i and 2i + 1 at one address count as one, if all active pairs are like that.
static bool in_pairs(const orr_access *a) {
    for (uint32_t i = 0; i < ORR_WARP; i += 2)
        if ((a->mask >> i & 3) == 3 && a->addr[i] != a->addr[i + 1]) return false;
    return true;
}

// The passes for lanes of a word each: as many as there are different words on the fullest bank. A bank's
// words are in a list, by the lane that came first with each; the last one is behind itself.
static uint32_t passes_of_words(const orr_access *a) {
    uint32_t word[ORR_WARP], used = 0, most = 1;
    uint8_t first[32], behind[ORR_WARP], words[32];
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint8_t lane = (uint8_t)orr_ffs(m), k;
        uint32_t w = word[lane] = (uint32_t)(a->addr[lane] / 4), bank = w % 32;
        behind[lane] = lane;
        if (!(used >> bank & 1)) {
            used |= 1u << bank;
            first[bank] = lane;
            words[bank] = 1;
            continue;
        }
        for (k = first[bank]; word[k] != w && behind[k] != k;) k = behind[k];
        if (word[k] == w) continue;
        behind[k] = lane;
        most = ++words[bank] > most ? words[bank] : most;
    }
    return most;
}

orr_banked orr_bank_conflicts(const orr_access *a, uint32_t bytes, int kind) {
    orr_banked r = {0, 0, 0};
    bool atomic = kind == ORR_BANKS_ATOMIC;
    uint32_t words = bytes > ORR_LANE_BYTES_MAX ? ORR_LANE_BYTES_MAX / 4 : (bytes + 3) / 4;
    if (words < 1) words = 1;
    uint32_t lanes = 32; // in a phase: as many as bring 32 words
    while (lanes * words > 32) lanes /= 2;
    if (words == 1 && !atomic && a->mask) {
        uint32_t passes;
        if (!is_strided(a, &passes)) passes = passes_of_words(a);
        return (orr_banked){1, passes, passes - 1};
    }
    if (kind == ORR_BANKS_LOAD && lanes < 32 && in_pairs(a)) lanes *= 2;
    for (uint32_t from = 0; from < ORR_WARP; from += lanes) {
        uint64_t at[ORR_WARP];
        uint32_t n = active(a, a->mask & (lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << from), at);
        if (!n) continue;
        uint32_t first[ORR_WARP], least = UINT32_MAX, most = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t w = first[i] = (uint32_t)(at[i] / 4);
            least = w < least ? w : least;
            most = w > most ? w : most;
        }
        r.phases++;
        if (!atomic && most - least + words <= 32 && most - least < 32) {
            r.passes++; // words this close together are all on different banks
        } else {
            uint32_t word[64], k = 0;
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t w = 0; w < words; w++) word[k++] = first[i] + w;
            r.passes += degree(word, k, atomic);
        }
    }
    r.conflicts = r.passes - r.phases;
    return r;
}

// ---- bytes of a line ----------------------------------------------------------------------------
static void set_range(uint64_t bytes[2], uint64_t from, uint64_t to) { // of 128
    for (int h = 0; h < 2; h++) {
        uint64_t lo = (uint64_t)h * 64, a = from > lo ? from - lo : 0, b = to > lo ? to - lo : 0;
        if (a >= 64 || b == 0) continue;
        if (b > 64) b = 64;
        if (a < b) bytes[h] |= (b - a == 64 ? UINT64_MAX : ((1ull << (b - a)) - 1)) << a;
    }
}

void orr_access_bytes(const orr_access *a, uint32_t bytes, uint64_t line, uint64_t touched[2]) {
    uint64_t first = line * ORR_LINE;
    touched[0] = touched[1] = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t from = a->addr[orr_ffs(m)] - first, to = from + bytes;
        if (from >= ORR_LINE && to - 1 >= ORR_LINE) continue; // wraps: not in this line
        if (from >= ORR_LINE) from = 0;
        set_range(touched, from, to > ORR_LINE ? ORR_LINE : to);
    }
}

// ---- by instruction ---------------------------------------------------------------------------
void orr_coalesce_inst(const orr_tinst *i, const orr_access *a, bool local, enum orr_coalescing how,
                       orr_coalesced *out) {
    if (local)
        orr_coalesce_local(a, i->bytes, out);
    else if (i->tclass == ORR_TC_TEX)
        orr_coalesce_texture(a, out);
    else if (orr_tinst_lands(i))
        orr_coalesce_copy(a, out);
    else
        orr_coalesce(a, i->bytes, i->flags & ORR_TF_ATOMIC ? ORR_WHOLE_WARP : how, out);
}
