// The driver API: virtual memory, whose addresses and contents programs get apart from each other
// (cuMemAddressReserve, cuMemCreate, cuMemMap).
//
// A range of addresses is an allocation of the simulated memory; what is mapped into it counts as memory of
// the device. An access to a part that nothing is mapped to is not noticed. Memory is at one place at a time:
// mapping it to a second one is refused. Handles cannot be given to other processes.
#include "app/pending.h"
#include "app/dr.h"

#include <stdlib.h>
#include <string.h>

typedef uint64_t devptr;
#define GRANULARITY ((size_t)2 << 20)

typedef struct physical { // CUmemGenericAllocationHandle
    size_t bytes;
    int device, holders; // those who have the handle, and the mapping
    devptr at;           // 0: it is not mapped
    char *kept;          // contents while it is not; NULL: zeroes
} physical;
typedef struct reserved {
    devptr addr, allocation;
    size_t bytes;
} reserved;
typedef struct { // CUmemLocation
    int type, id;
} location;
typedef struct { // CUmemAllocationProp
    int type, handles;
    location where;
    void *win32;
    unsigned char flags[8];
} properties;
typedef struct { // CUmemAccessDesc
    location where;
    int flags;
} access_desc;
enum { LOCATION_DEVICE = 1, TYPE_PINNED = 1, READ_WRITE = 3 };

static ORR_VEC(physical *) memories;
static ORR_VEC(reserved) ranges;

static physical *memory_of(uint64_t handle) {
    for (size_t i = 0; i < memories.n; i++)
        if ((uintptr_t)memories.at[i] == handle) return memories.at[i];
    return NULL;
}
static physical *memory_at(devptr p) {
    for (size_t i = 0; i < memories.n; i++) {
        physical *m = memories.at[i];
        if (m->at && p - m->at < m->bytes) return m;
    }
    return NULL;
}

static void let_go(physical *m) {
    if (--m->holders > 0) return;
    the_app.devices[m->device].used -= m->bytes;
    for (size_t i = 0; i < memories.n; i++)
        if (memories.at[i] == m) memories.at[i] = memories.at[--memories.n];
    free(m->kept);
    free(m);
}

API int cuMemGetAllocationGranularity(size_t *granularity, const properties *p, int option) {
    (void)option;
    if (!granularity || !p) return E_VALUE;
    *granularity = GRANULARITY;
    return E_OK;
}

API int cuMemAddressReserve(devptr *p, size_t bytes, size_t align, devptr wish, unsigned long long flags) {
    (void)wish; // a hint
    DR_ENTER();
    if (!p || !bytes || bytes % GRANULARITY || flags || align & (align - 1) || bytes > SIZE_MAX / 4)
        return app_leave_driver(E_VALUE);
    orr_err e = {0};
    size_t more = align > GRANULARITY ? align : 0; // allocations as large as these begin at multiples of 2 MB
    uint64_t addr = orr_mem_alloc(the_app.mem, bytes + more, "cuMemAddressReserve", &e);
    if (!addr) return app_leave_driver(E_MEMORY);
    *p = more ? (addr + align - 1) & ~(uint64_t)(align - 1) : addr;
    *ORR_PUSH(&ranges) = (reserved){*p, addr, bytes};
    return app_leave_driver(E_OK);
}
API int cuMemAddressFree(devptr p, size_t bytes) {
    DR_ENTER();
    for (size_t i = 0; i < ranges.n; i++) {
        if (ranges.at[i].addr != p || ranges.at[i].bytes != bytes) continue;
        for (size_t k = 0; k < memories.n; k++)
            if (memories.at[k]->at && memories.at[k]->at - p < bytes) return app_leave_driver(E_VALUE);
        orr_mem_free(the_app.mem, ranges.at[i].allocation);
        ranges.at[i] = ranges.at[--ranges.n];
        return app_leave_driver(E_OK);
    }
    return app_leave_driver(E_VALUE);
}

API int cuMemCreate(uint64_t *handle, size_t bytes, const properties *p, unsigned long long flags) {
    DR_ENTER();
    bool right = handle && p && bytes && bytes % GRANULARITY == 0 && !flags && p->type == TYPE_PINNED;
    if (!right) return app_leave_driver(E_VALUE);
    if (p->handles) return app_leave_driver(app_missing("cuMemCreate of memory for other processes"));
    int device = p->where.type == LOCATION_DEVICE ? p->where.id : app_device_now();
    app_device *d = app_device_at(device);
    if (!d) return app_leave_driver(E_DEVICE);
    uint64_t size = (uint64_t)the_app.gpu->dram_size;
    if (bytes > size - (d->used < size ? d->used : size)) return app_leave_driver(E_MEMORY);
    physical *m = *ORR_PUSH(&memories) = orr_calloc(1, sizeof *m);
    *m = (physical){.bytes = bytes, .device = app_device_index(device), .holders = 1};
    d->used += bytes;
    if (d->used > d->peak) d->peak = d->used;
    *handle = (uintptr_t)m;
    return app_leave_driver(E_OK);
}
API int cuMemRelease(uint64_t handle) {
    DR_ENTER();
    physical *m = memory_of(handle);
    if (m) let_go(m);
    return app_leave_driver(m ? E_OK : E_VALUE);
}
API int cuMemRetainAllocationHandle(uint64_t *handle, void *p) {
    DR_ENTER();
    physical *m = memory_at((uintptr_t)p);
    if (!handle || !m) return app_leave_driver(E_VALUE);
    m->holders++;
    *handle = (uintptr_t)m;
    return app_leave_driver(E_OK);
}
API int cuMemGetAllocationPropertiesFromHandle(properties *p, uint64_t handle) {
    DR_ENTER();
    const physical *m = memory_of(handle);
    if (!p || !m) return app_leave_driver(E_VALUE);
    *p = (properties){.type = TYPE_PINNED, .where = {LOCATION_DEVICE, m->device}};
    return app_leave_driver(E_OK);
}

API int cuMemMap(devptr p, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags) {
    DR_ENTER();
    physical *m = memory_of(handle);
    bool inside = false;
    for (size_t i = 0; i < ranges.n; i++)
        inside |= p - ranges.at[i].addr <= ranges.at[i].bytes &&
                  bytes <= ranges.at[i].bytes - (p - ranges.at[i].addr);
    if (!m || !inside || offset || flags || bytes != m->bytes || p % GRANULARITY)
        return app_leave_driver(E_VALUE);
    for (size_t i = 0; i < memories.n; i++)
        if (memories.at[i]->at && memories.at[i]->at < p + bytes &&
            p < memories.at[i]->at + memories.at[i]->bytes)
            return app_leave_driver(E_VALUE); // something is there
    if (m->at) return app_leave_driver(app_missing("cuMemMap of memory that is mapped elsewhere too"));
    if (m->kept) memcpy((void *)(uintptr_t)p, m->kept, bytes);
    free(m->kept);
    m->kept = NULL;
    m->at = p;
    m->holders++;
    app_block_add(p, bytes, m->device, PLACE_DEVICE);
    return app_leave_driver(E_OK);
}
static void unmap(physical *m) {
    app_block *b = app_block_of(m->at);
    if (b && b->addr == m->at) app_block_remove(b);
    if (m->holders > 1) { // its contents may be mapped again
        m->kept = orr_malloc(m->bytes);
        memcpy(m->kept, (void *)(uintptr_t)m->at, m->bytes);
    }
    memset((void *)(uintptr_t)m->at, 0, m->bytes);
    m->at = 0;
    let_go(m);
}
API int cuMemUnmap(devptr p, size_t bytes) {
    DR_ENTER();
    app_pending_finish_all();
    app_queue_flush();
    bool any = false;
    for (size_t i = memories.n; i-- > 0;) {
        if (i >= memories.n || !memories.at[i]->at || memories.at[i]->at - p >= bytes) continue;
        unmap(memories.at[i]);
        any = true;
    }
    return app_leave_driver(any ? E_OK : E_VALUE);
}
API int cuMemSetAccess(devptr p, size_t bytes, const access_desc *list, size_t n) {
    DR_ENTER();
    return app_leave_driver(list && n && bytes && memory_at(p) ? E_OK : E_VALUE);
}
API int cuMemGetAccess(unsigned long long *flags, const location *where, devptr p) {
    DR_ENTER();
    const physical *m = memory_at(p);
    if (!flags || !where || !m) return app_leave_driver(E_VALUE);
    *flags = READ_WRITE;
    return app_leave_driver(E_OK);
}
