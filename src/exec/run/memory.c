// Device memory: one reserved range of host addresses, and a sorted table of allocations in it.
//
// The range is reserved without being backed; pages come into being when they are touched. Addresses
// are handed out from the bottom, first fit, so that a run gives the same addresses on every host. As from
// the CUDA driver, 1 MB and more begin at a multiple of 2 MB: their addresses have the low bits that they
// have on a GPU, which say what shares a slice of L2 (docs/archive/h200/l2.md, Where buffers lie). What is
// smaller the driver puts side by side, at multiples of 512 bytes. Here there is a gap, so that an overrun
// hits nothing, and yet each begins at a multiple of 1 KB or in the middle as it would there: a histogram of
// 1 KB lies on two slices or on four (H200: micro/exchange, gather_u32 of 128 and 256 words).
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/block.h"
#include "exec/islands.h"
#include "exec/texture.h"

#define ALIGN 512u         // as cudaMalloc's
#define GAP   512u         // between allocations, so that a small overrun hits nothing
#define TILE  (1u << 10)   // small ones are where the driver would put them, as far as these are concerned
#define PAGE  (2u << 20)   // of a large allocation
#define LARGE (1u << 20)   // bytes and more
#define SMALL (128u << 20) // where the small ones are; behind it when it is full

struct orr_mem {
    uint8_t *host;
    uint64_t base; // device address of host[0]
    uint64_t reserved;
    uint64_t used;
    uint64_t packed; // bytes of small allocations, side by side as the driver has them
    range *at;       // sorted by lo
    char (*name)[32];
    uint32_t n, cap;
    bool as_gpu;
    orr_strays strays;      // by all threads that execute
    orr_texture **textures; // by handle; NULL: none there
    orr_mem_range *islands; // of addresses, of which nothing is between; NULL: all that is reserved is one
    uint32_t nislands;
    int file;         // that other processes see it through; 0: none does
    uint8_t *in_file; // pages of it, as bits
    uint32_t ntextures;
};

orr_mem *orr_mem_new(orr_err *e) {
    orr_mem *m = orr_calloc(1, sizeof *m);
    m->base = ORR_GLOBAL_BASE;
    // Under a limit on address space (ulimit -v, valgrind) less must do.
    for (m->reserved = ORR_GLOBAL_LIMIT; m->reserved >= (1ull << 30); m->reserved /= 2) {
        // At the device's own addresses if they are free: then host code can use them too (orr_mem_shared).
        void *p = mmap((void *)ORR_GLOBAL_BASE, m->reserved, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            m->host = p;
            return m;
        }
    }
    free(m);
    orr_fail(e, ORR_BAD_INPUT, "cannot reserve address space for device memory; raise the limit (ulimit -v)");
    return NULL;
}

orr_mem *orr_mem_new_at(uint64_t lo, uint64_t bytes, orr_err *e) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        orr_fail(e, ORR_BAD_INPUT, "cannot reserve %llu GiB of address space for device memory",
                 (unsigned long long)(bytes >> 30));
        return NULL;
    }
    orr_mem *m = orr_calloc(1, sizeof *m);
    m->host = p;
    m->base = lo;
    m->reserved = bytes;
    return m;
}

// ---- islands of addresses -------------------------------------------------------------------
// Places that are too far apart for all between them to be reserved (a GPU's pools lie at 12 GiB, what
// cudaMalloc gives at 127 TiB). An address is a host address by one addition all the same: a distance is
// looked for at which all islands are free in the host's address space.
#define STEP     (1ull << 30)
#define TRIES    128
#define HOST_TOP (1ull << 56) // the kernel knows better

static bool reserve_islands(const orr_mem_range *at, uint32_t n, uint64_t distance) {
    uint32_t done = 0;
    for (; done < n; done++) {
        uint64_t from = at[done].addr + distance;
        if (from >= HOST_TOP || at[done].bytes > HOST_TOP - from) break;
        void *want = (void *)(uintptr_t)from;
        void *p = mmap(want, at[done].bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (p == want) continue;
        if (p != MAP_FAILED) munmap(p, at[done].bytes); // an old kernel, which takes it as a hint
        break;
    }
    if (done == n) return true;
    while (done-- > 0) munmap((void *)(uintptr_t)(at[done].addr + distance), at[done].bytes);
    return false;
}

orr_mem *orr_mem_new_islands(const orr_mem_range *at, uint32_t n, orr_err *e) {
    uint64_t distance = 0;
    bool found = false;
    for (uint64_t k = 1; k <= TRIES && !found; k++) {
        distance = k & 1 ? (k + 1) / 2 * STEP : -(k / 2 * STEP);
        found = reserve_islands(at, n, distance);
    }
    if (!found) {
        orr_fail(e, ORR_BAD_INPUT, "its memory lies in %u places that are not free here together; try again",
                 n);
        return NULL;
    }
    orr_mem *m = orr_calloc(1, sizeof *m);
    m->base = at[0].addr;
    m->host = (uint8_t *)(uintptr_t)(at[0].addr + distance);
    m->reserved = at[n - 1].addr + at[n - 1].bytes - m->base;
    m->islands = orr_malloc(n * sizeof *at);
    memcpy(m->islands, at, n * sizeof *at);
    m->nislands = n;
    return m;
}

static bool on_an_island(const orr_mem *m, uint64_t addr, uint64_t bytes) {
    for (uint32_t i = 0; i < m->nislands; i++) {
        const orr_mem_range *r = &m->islands[i];
        if (addr >= r->addr && addr - r->addr <= r->bytes && bytes <= r->bytes - (addr - r->addr))
            return true;
    }
    return !m->nislands;
}

static void release(orr_mem *m) {
    for (uint32_t i = 0; i < m->nislands; i++)
        munmap(m->host + (m->islands[i].addr - m->base), m->islands[i].bytes);
    if (!m->nislands) munmap(m->host, m->reserved);
    free(m->islands);
}

void orr_mem_layout(orr_mem *m, const orr_mem_range *at, uint32_t n) {
    if (n > m->cap) {
        m->cap = n;
        m->at = orr_realloc(m->at, m->cap * sizeof *m->at);
        m->name = orr_realloc(m->name, m->cap * sizeof *m->name);
    }
    m->n = n;
    m->used = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->at[i] = (range){at[i].addr, at[i].bytes};
        snprintf(m->name[i], sizeof m->name[i], "0x%llx", (unsigned long long)at[i].addr);
        m->used += at[i].bytes;
    }
}

void orr_mem_delete(orr_mem *m) {
    if (!m) return;
    release(m);
    free(m->at);
    free(m->name);
    for (uint32_t n = 0; n < m->ntextures; n++) free(m->textures[n]);
    free(m->textures);
    if (m->file) close(m->file);
    free(m->in_file);
    free(m);
}

// A small one begins `in` bytes behind a multiple of TILE.
static uint64_t allocate(orr_mem *m, uint64_t bytes, const char *name, uint64_t in, orr_err *e) {
    uint64_t size = bytes ? bytes : 1;
    if (size > m->reserved) size = m->reserved + 1; // too large: no gap will do
    uint64_t align = size < LARGE ? TILE : PAGE, lo = m->base + (size < LARGE ? in : SMALL);
    if (size >= LARGE) in = 0;
    uint32_t at = 0;
    for (; at < m->n; at++) {
        if (m->at[at].lo >= lo && m->at[at].lo - lo >= size + GAP) break;
        uint64_t end = ((m->at[at].lo + m->at[at].size + GAP - in + align - 1) & ~(align - 1)) + in;
        if (lo < end) lo = end;
    }
    if (lo - m->base > m->reserved || size + GAP > m->reserved - (lo - m->base) ||
        !on_an_island(m, lo, size + GAP)) {
        orr_fail(e, ORR_BAD_INPUT, "'%s' needs %llu bytes of device memory, more than there is", name,
                 (unsigned long long)bytes);
        return 0;
    }
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 64;
        m->at = orr_realloc(m->at, m->cap * sizeof *m->at);
        m->name = orr_realloc(m->name, m->cap * sizeof *m->name);
    }
    memmove(m->at + at + 1, m->at + at, (m->n - at) * sizeof *m->at);
    memmove(m->name + at + 1, m->name + at, (m->n - at) * sizeof *m->name);
    m->at[at] = (range){lo, bytes};
    snprintf(m->name[at], sizeof m->name[at], "%s", name ? name : "");
    m->n++;
    m->used += bytes;
    return lo;
}

// The pages of 2 MB that are all this allocation's may be such on the host, too: a warp's lanes are in many
// places at once, each of which the host's processor must find.
static void in_large_pages(const orr_mem *m, uint64_t addr, uint64_t bytes) {
    uintptr_t at = (uintptr_t)m->host + (uintptr_t)(addr - m->base);
    uintptr_t from = (at + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
              to = (at + (uintptr_t)bytes) & ~(uintptr_t)(PAGE - 1);
    if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE); // where there are none, nothing is lost
}

uint64_t orr_mem_alloc(orr_mem *m, uint64_t bytes, const char *name, orr_err *e) {
    uint64_t addr = allocate(m, bytes, name, m->packed % TILE, e);
    if (addr) in_large_pages(m, addr, bytes);
    if (addr && bytes < LARGE) m->packed += bytes ? (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1) : ALIGN;
    return addr;
}

static const range *find(const orr_mem *m, uint64_t addr) { // the last that starts at or below addr
    uint32_t lo = 0, hi = m->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (m->at[mid].lo <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &m->at[lo - 1] : NULL;
}

const range *orr_mem_find(const orr_mem *m, uint64_t addr) {
    const range *r = find(m, addr);
    return r && addr - r->lo < r->size ? r : NULL;
}

// What is allocated is zero. Whole host pages go back to the system, which gives zeroes again: writing them
// would make resident what a program never used. Those of a file are shared with other processes.
static void clear(orr_mem *m, uint64_t addr, uint64_t bytes) {
    enum { HOST_PAGE = 65536 }; // the largest of any host
    uint8_t *p = m->host + (addr - m->base), *end = p + bytes;
    uint8_t *from = (uint8_t *)(((uintptr_t)p + HOST_PAGE - 1) & ~(uintptr_t)(HOST_PAGE - 1));
    uint8_t *to = (uint8_t *)((uintptr_t)end & ~(uintptr_t)(HOST_PAGE - 1));
    if (bytes < LARGE || m->file || madvise(from, (size_t)(to - from), MADV_DONTNEED) != 0) {
        memset(p, 0, bytes);
        return;
    }
    memset(p, 0, (size_t)(from - p));
    memset(to, 0, (size_t)(end - to));
}

bool orr_mem_free(orr_mem *m, uint64_t addr) {
    const range *r = find(m, addr);
    if (!r || r->lo != addr) return false;
    clear(m, r->lo, r->size);
    m->used -= r->size;
    uint32_t at = (uint32_t)(r - m->at);
    m->n--;
    memmove(m->at + at, m->at + at + 1, (m->n - at) * sizeof *m->at);
    memmove(m->name + at, m->name + at + 1, (m->n - at) * sizeof *m->name);
    return true;
}

void *orr_mem_host(orr_mem *m, uint64_t addr, uint64_t bytes) {
    const range *r = find(m, addr);
    if (!r || addr - r->lo > r->size || bytes > r->size - (addr - r->lo)) return NULL;
    return m->host + (addr - m->base);
}

void orr_mem_as_gpu(orr_mem *m, bool on) { m->as_gpu = on; }
bool orr_mem_strict(const orr_mem *m) { return !m->as_gpu; }

orr_strays orr_mem_strays(orr_mem *m) {
    orr_strays s = m->strays;
    m->strays = (orr_strays){0, 0};
    return s;
}

void orr_mem_count_strays(orr_mem *m, orr_strays s) { m->strays = s; }

void orr_mem_extent(const orr_mem *m, uint64_t *from, uint64_t *bytes) {
    uint64_t end = m->n ? m->at[m->n - 1].lo + m->at[m->n - 1].size : m->base;
    *from = m->base & ~(uint64_t)(PAGE - 1);
    *bytes = ((end + PAGE - 1) & ~(uint64_t)(PAGE - 1)) - *from;
}

// A GPU maps memory in pages of 2 MB: small allocations share one, a large one has its last to itself.
static bool is_mapped(const orr_mem *m, uint64_t page) {
    const range *below = find(m, page), *above = below ? below + 1 : m->at;
    if (below && below->lo + below->size > page) return true;
    return above < m->at + m->n && above->lo < page + PAGE;
}

uint8_t *orr_mem_stray(orr_mem *m, uint64_t addr, uint64_t bytes) {
    if (!m->as_gpu || !bytes || addr + bytes < addr) return NULL;
    for (uint64_t page = addr & ~(uint64_t)(PAGE - 1); page < addr + bytes; page += PAGE)
        if (!is_mapped(m, page)) return NULL;
    // Sums and minima are the same in whatever order threads come.
    __atomic_fetch_add(&m->strays.n, 1, __ATOMIC_RELAXED);
    uint64_t lowest = __atomic_load_n(&m->strays.lowest, __ATOMIC_RELAXED);
    while ((!lowest || addr < lowest) && !__atomic_compare_exchange_n(&m->strays.lowest, &lowest, addr, true,
                                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return m->host + (addr - m->base);
}

uint64_t orr_mem_used(const orr_mem *m) { return m->used; }
uint64_t orr_mem_end(const orr_mem *m) { return m->n ? m->at[m->n - 1].lo + m->at[m->n - 1].size : m->base; }
bool orr_mem_shared(const orr_mem *m) { return (uintptr_t)m->host == m->base; }
uint8_t *orr_mem_at(const orr_mem *m, uint64_t addr) {
    return (uint8_t *)((uintptr_t)m->host + (uintptr_t)(addr - m->base));
}

const char *orr_mem_describe(const orr_mem *m, uint64_t addr, char buf[160]) {
    const range *r = find(m, addr);
    if (!r) {
        snprintf(buf, 160, "in no allocation");
    } else {
        uint64_t past = addr - r->lo;
        if (past < r->size)
            snprintf(buf, 160, "%llu bytes into '%s', which has %llu", (unsigned long long)past,
                     m->name[r - m->at], (unsigned long long)r->size);
        else
            snprintf(buf, 160, "%llu bytes past the end of '%s', which has %llu",
                     (unsigned long long)(past - r->size), m->name[r - m->at], (unsigned long long)r->size);
    }
    return buf;
}

// ---- memory of several processes ------------------------------------------------------------
// What is to be shared moves into a file without a name, page by page of 2 MB, at the places that it has in
// memory; the file is as large as memory and has what was put into it.
static bool page_to_file(orr_mem *m, uint64_t page) {
    uint8_t *at = m->host + page * PAGE;
    static const uint8_t zeros[4096];
    for (uint64_t o = 0; o < PAGE; o += sizeof zeros)
        if (memcmp(at + o, zeros, sizeof zeros) != 0 &&
            pwrite(m->file, at + o, sizeof zeros, (off_t)(page * PAGE + o)) != (ssize_t)sizeof zeros)
            return false;
    if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, m->file,
             (off_t)(page * PAGE)) == MAP_FAILED)
        return false;
    m->in_file[page / 8] |= (uint8_t)(1u << page % 8);
    return true;
}

int orr_mem_share(orr_mem *m, uint64_t addr, uint64_t bytes) {
    const range *r = find(m, addr);
    if (!r || addr - r->lo + bytes > r->size || !bytes) return -1;
    if (!m->file) {
        int fd = memfd_create("device memory", MFD_CLOEXEC);
        if (fd < 0) return -1;
        if (ftruncate(fd, (off_t)m->reserved) != 0) {
            close(fd);
            return -1;
        }
        m->file = fd;
        m->in_file = orr_calloc(m->reserved / PAGE / 8 + 1, 1);
    }
    uint64_t first = (addr - m->base) / PAGE, last = (addr - m->base + bytes - 1) / PAGE;
    for (uint64_t page = first; page <= last; page++)
        if (!(m->in_file[page / 8] >> page % 8 & 1) && !page_to_file(m, page)) return -1;
    return m->file;
}

uint64_t orr_mem_attach(orr_mem *m, int file, uint64_t offset, uint64_t bytes, const char *name, orr_err *e) {
    uint64_t in = offset % PAGE, size = (in + bytes + PAGE - 1) / PAGE * PAGE;
    struct stat st;
    if (fstat(file, &st) != 0 || bytes > m->reserved || offset > (uint64_t)st.st_size ||
        size > (uint64_t)st.st_size - (offset - in)) {
        orr_fail(e, ORR_BAD_INPUT, "another process's memory is not there");
        return 0;
    }
    uint64_t addr = orr_mem_alloc(m, size, name, e);
    if (!addr) return 0;
    if (mmap(m->host + (addr - m->base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             file, (off_t)(offset - in)) != MAP_FAILED)
        return addr + in;
    orr_mem_free(m, addr);
    orr_fail(e, ORR_BAD_INPUT, "another process's memory cannot be mapped");
    return 0;
}

bool orr_mem_detach(orr_mem *m, uint64_t addr) {
    const range *r = orr_mem_find(m, addr);
    if (!r || r->size % PAGE ||
        mmap(m->host + (r->lo - m->base), r->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        return false;
    return orr_mem_free(m, r->lo);
}

// ---- textures -------------------------------------------------------------------------------
#define MOST_TEXTURES (1u << 20) // as many as a handle has bits for

bool orr_mem_texture_put(orr_mem *m, uint64_t handle, const orr_texture *t) {
    if (!handle || handle >= MOST_TEXTURES) return false;
    if (handle >= m->ntextures) {
        uint32_t n = (uint32_t)handle + 16;
        m->textures = orr_realloc(m->textures, n * sizeof(orr_texture *));
        for (; m->ntextures < n; m->ntextures++) m->textures[m->ntextures] = NULL;
    }
    if (!m->textures[handle]) m->textures[handle] = orr_calloc(1, sizeof(orr_texture));
    *m->textures[handle] = *t;
    return true;
}

uint64_t orr_mem_texture_new(orr_mem *m, const orr_texture *t) {
    uint64_t handle = 1;
    while (handle < m->ntextures && m->textures[handle]) handle++;
    return orr_mem_texture_put(m, handle, t) ? handle : 0;
}

const orr_texture *orr_mem_texture(const orr_mem *m, uint64_t handle) {
    return handle < m->ntextures ? m->textures[handle] : NULL;
}

bool orr_mem_texture_free(orr_mem *m, uint64_t handle) {
    if (handle >= m->ntextures || !m->textures[handle]) return false;
    free(m->textures[handle]);
    m->textures[handle] = NULL;
    return true;
}

// ---- a module's variables -------------------------------------------------------------------
uint64_t orr_image_address(const orr_image *image, uint32_t var, uint64_t offset) {
    for (uint32_t i = 0; i < image->nmoved; i++) {
        const orr_moved *v = &image->moved[i];
        if (v->var == var && offset - v->offset < v->bytes) return v->addr + (offset - v->offset);
    }
    return image->var_addr[var] + offset;
}

static bool relocate(orr_mem *m, orr_image *image, uint32_t v, orr_err *e) {
    const orr_var *var = &image->module->vars[v];
    uint8_t *bytes = orr_mem_host(m, image->var_addr[v], var->bytes);
    for (uint32_t n = 0; n < var->nrelocs; n++) {
        const orr_reloc *r = &var->relocs[n];
        uint64_t value = r->var >= 0 ? orr_image_address(image, (uint32_t)r->var, r->value) : r->value;
        if (r->bytes > 8 || r->offset > var->bytes || r->bytes > var->bytes - r->offset)
            return orr_fail(e, ORR_BAD_INPUT, "%s: initialiser of '%s' runs past its end",
                            image->module->path, var->name);
        memcpy(bytes + r->offset, &value, r->bytes);
    }
    return true;
}

orr_image *orr_image_load(orr_mem *m, orr_module *mod, orr_err *e) {
    orr_image *image = orr_calloc(1, sizeof *image);
    image->module = mod;
    image->var_addr = orr_calloc(mod->nvars + 1, sizeof *image->var_addr);
    for (uint32_t v = 0; v < mod->nvars; v++) {
        const orr_var *var = &mod->vars[v];
        // What fills it up to its alignment is its own: LLVM reads and writes vectors of three as four.
        uint64_t align = var->align ? var->align : 1, bytes = (var->bytes + align - 1) / align * align;
        image->var_addr[v] = allocate(m, bytes, var->name, 0, e);
        if (!image->var_addr[v]) goto fail;
        if (var->init) memcpy(orr_mem_host(m, image->var_addr[v], var->bytes), var->init, var->init_bytes);
    }
    for (uint32_t v = 0; v < mod->nvars; v++)
        if (!relocate(m, image, v, e)) goto fail;
    return image;
fail:
    orr_image_free(m, image);
    return NULL;
}

orr_image *orr_image_at(orr_mem *m, orr_module *mod, const uint64_t *addr, const orr_moved *moved,
                        uint32_t nmoved, orr_err *e) {
    orr_image *image = orr_calloc(1, sizeof *image);
    image->module = mod;
    image->moved = moved;
    image->nmoved = nmoved;
    image->var_addr = orr_calloc(mod->nvars + 1, sizeof *image->var_addr);
    for (uint32_t v = 0; v < mod->nvars; v++) {
        const orr_var *var = &mod->vars[v];
        image->var_addr[v] = addr[v] ? addr[v] : allocate(m, var->bytes, var->name, 0, e);
        if (!image->var_addr[v]) goto fail;
        if (addr[v]) continue;
        memset(orr_mem_host(m, image->var_addr[v], var->bytes), 0, var->bytes);
        if (var->init) memcpy(orr_mem_host(m, image->var_addr[v], var->bytes), var->init, var->init_bytes);
    }
    for (uint32_t v = 0; v < mod->nvars; v++)
        if (!addr[v] && !relocate(m, image, v, e)) goto fail;
    return image;
fail:
    orr_image_forget(image);
    return NULL;
}

void orr_image_forget(orr_image *image) {
    if (image) free(image->var_addr);
    free(image);
}

void orr_image_free(orr_mem *m, orr_image *image) {
    if (!image) return;
    for (uint32_t v = 0; v < image->module->nvars; v++)
        if (image->var_addr[v]) orr_mem_free(m, image->var_addr[v]);
    free(image->var_addr);
    free(image);
}

bool orr_image_around(const orr_image *image, uint64_t at, uint64_t *addr, uint64_t *bytes) {
    const orr_module *m = image->module;
    uint32_t v = 0;
    while (v < m->nvars && at - image->var_addr[v] >= m->vars[v].bytes) v++;
    if (v == m->nvars) return false;
    *addr = image->var_addr[v];
    *bytes = m->vars[v].bytes;
    for (uint32_t n = 0; n < m->nsymbols; n++) {
        const orr_symbol *y = &m->symbols[n];
        uint64_t from = image->var_addr[v] + y->offset;
        if (y->var != v || at - from >= y->bytes || y->bytes > *bytes) continue;
        *addr = from;
        *bytes = y->bytes;
    }
    return true;
}

bool orr_image_symbol(const orr_image *image, const char *name, uint64_t *addr, uint64_t *bytes) {
    for (uint32_t v = 0; v < image->module->nvars; v++)
        if (!strcmp(image->module->vars[v].name, name)) {
            *addr = image->var_addr[v];
            *bytes = image->module->vars[v].bytes;
            return true;
        }
    for (uint32_t n = 0; n < image->module->nsymbols; n++) {
        const orr_symbol *y = &image->module->symbols[n];
        if (strcmp(y->name, name)) continue;
        *addr = image->var_addr[y->var] + y->offset;
        *bytes = y->bytes;
        return true;
    }
    return false;
}
