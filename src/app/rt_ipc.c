// The runtime API: memory and events of several processes (cudaIpc*).
//
// A handle names a process and a file descriptor in it: that of its device memory, of which what has a handle
// is in the file (exec/run/memory.c), or that of its shared events. The other process opens it through
// /proc/PID/fd, as it may for processes of its own user, and maps it. So handles are good as long as the
// process that made them lives, as CUDA says of memory. Each process has its own simulated clock, which
// begins when it first uses the GPU; an event's time is compared as if all had begun together.
#include "app/pending.h"
#include "app/rt.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 0x4f724d65, EVENT = 0x4f724576, EVENTS = 4096 };
enum { EVENT_NO_TIMING = 2, EVENT_INTERPROCESS = 4 }; // cudaEventDisableTiming, cudaEventInterprocess

typedef struct ipc_handle { // cudaIpcMemHandle_t, cudaIpcEventHandle_t: 64 bytes
    uint32_t kind, pid;
    int32_t file, device; // as the program counts devices
    uint64_t offset, bytes, slot;
    uint8_t reserved[24];
} ipc_handle;
_Static_assert(sizeof(ipc_handle) == 64, "a handle has 64 bytes");

static int other_file(const ipc_handle *h) { // to be closed; -1: the process is not there
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/fd/%d", h->pid, h->file);
    return open(path, O_RDWR | O_CLOEXEC);
}

// ---- memory --------------------------------------------------------------------------------------------
RT(cudaIpcGetMemHandle)(ipc_handle *h, void *p) {
    ENTER();
    const app_block *b = app_block_of((uintptr_t)p);
    if (!h || !b || b->place != PLACE_DEVICE || b->foreign || !b->bytes) return app_leave(E_VALUE);
    int file = orr_mem_share(the_app.mem, b->addr, b->bytes);
    if (file < 0) return app_leave(E_MEMORY);
    *h = (ipc_handle){.kind = MEMORY,
                      .pid = (uint32_t)getpid(),
                      .file = file,
                      .device = app_block_device(b),
                      .offset = b->addr - ORR_GLOBAL_BASE,
                      .bytes = b->bytes};
    return app_leave(E_OK);
}

RT(cudaIpcOpenMemHandle)(void **p, ipc_handle h, unsigned flags) {
    ENTER();
    (void)flags; // cudaIpcMemLazyEnablePeerAccess
    if (!p) return app_leave(E_VALUE);
    *p = NULL;
    if (h.kind != MEMORY || h.pid == (uint32_t)getpid() || !h.bytes || !app_device_at(h.device))
        return app_leave(E_HANDLE);
    int now = app_device_now();
    if (h.device != now && !(the_app.node && orr_node_peers(the_app.node, now, h.device)))
        return app_leave(E_PEER_UNSUPPORTED);
    int file = other_file(&h);
    if (file < 0) return app_leave(E_HANDLE);
    orr_err e = {0};
    uint64_t addr = orr_mem_attach(the_app.mem, file, h.offset, h.bytes, "of another process", &e);
    close(file);
    if (!addr) {
        app_say("%s", e.text);
        return app_leave(E_HANDLE);
    }
    app_block_add(addr, h.bytes, app_device_index(h.device), PLACE_DEVICE)->foreign = true;
    if (h.device != now) app_device_at(now)->peers |= (uint64_t)1 << h.device;
    *p = (void *)(uintptr_t)addr;
    return app_leave(E_OK);
}

RT(cudaIpcCloseMemHandle)(void *p) {
    ENTER();
    app_block *b = app_block_of((uintptr_t)p);
    if (!b || !b->foreign || b->addr != (uintptr_t)p) return app_leave(E_VALUE);
    orr_mem_detach(the_app.mem, b->addr);
    app_block_remove(b);
    return app_leave(E_OK);
}

// ---- events --------------------------------------------------------------------------------------------
static struct {
    app_shared_event *at;
    int file;
    uint64_t n;
} mine;

static app_shared_event *events_of(int file) {
    void *p = mmap(NULL, EVENTS * sizeof(app_shared_event), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool open_mine(void) {
    if (mine.at) return true;
    int fd = memfd_create("shared events", MFD_CLOEXEC);
    if (fd < 0) return false;
    if (ftruncate(fd, EVENTS * sizeof(app_shared_event)) == 0) mine.at = events_of(fd);
    mine.file = fd;
    return mine.at != NULL;
}

RT(cudaIpcGetEventHandle)(ipc_handle *h, void *event) {
    ENTER();
    app_event *ev = event;
    if (!h || !ev) return app_leave(ev ? E_VALUE : E_HANDLE);
    if (!(ev->flags & EVENT_INTERPROCESS) || !(ev->flags & EVENT_NO_TIMING)) return app_leave(E_HANDLE);
    if (!ev->shared) {
        if (!open_mine() || mine.n == EVENTS) return app_leave(E_MEMORY);
        if (ev->asked_of) app_pending_finish(ev->asked_of);
        app_queue_flush();
        ev->shared = &mine.at[mine.n++];
        if (ev->recorded) app_event_tell(ev);
    }
    *h = (ipc_handle){.kind = EVENT,
                      .pid = (uint32_t)getpid(),
                      .file = mine.file,
                      .slot = (uint64_t)(ev->shared - mine.at)};
    return app_leave(E_OK);
}

RT(cudaIpcOpenEventHandle)(void **event, ipc_handle h) {
    ENTER();
    if (!event) return app_leave(E_VALUE);
    if (h.kind != EVENT || h.pid == (uint32_t)getpid() || h.slot >= EVENTS) return app_leave(E_HANDLE);
    int file = other_file(&h);
    app_shared_event *theirs = file >= 0 ? events_of(file) : NULL;
    if (file >= 0) close(file);
    if (!theirs) return app_leave(E_HANDLE);
    app_event *ev = *event = orr_calloc(1, sizeof *ev);
    ev->flags = EVENT_NO_TIMING | EVENT_INTERPROCESS;
    ev->shared = &theirs[h.slot]; // mapped until the process ends
    return app_leave(E_OK);
}

// ---- the driver's names --------------------------------------------------------------------------------
#define BY_RUNTIME(call) (app_driver_begin(), app_driver_end(call))
API int cuIpcGetMemHandle(ipc_handle *h, uint64_t p) {
    return BY_RUNTIME(orr_cudaIpcGetMemHandle(h, (void *)(uintptr_t)p));
}
API int cuIpcOpenMemHandle_v2(void **p, ipc_handle h, unsigned flags) {
    return BY_RUNTIME(orr_cudaIpcOpenMemHandle(p, h, flags));
}
API int cuIpcOpenMemHandle(void **p, ipc_handle h, unsigned flags) {
    return cuIpcOpenMemHandle_v2(p, h, flags);
}
API int cuIpcCloseMemHandle(uint64_t p) {
    return BY_RUNTIME(orr_cudaIpcCloseMemHandle((void *)(uintptr_t)p));
}
API int cuIpcGetEventHandle(ipc_handle *h, void *event) {
    return BY_RUNTIME(orr_cudaIpcGetEventHandle(h, event));
}
API int cuIpcOpenEventHandle(void **event, ipc_handle h) {
    return BY_RUNTIME(orr_cudaIpcOpenEventHandle(event, h));
}
