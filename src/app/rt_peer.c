// The runtime API: memory of other devices. Who may reach whose, and what managed memory does between them.
#include "app/pending.h"
#include "app/rt.h"

#include <string.h>

static bool reachable(int device, int peer) {
    int n = app_device_count();
    return the_app.node && device >= 0 && peer >= 0 && device < n && peer < n &&
           orr_node_peers(the_app.node, device, peer);
}

RT(cudaDeviceCanAccessPeer)(int *can, int device, int peer) {
    ENTER();
    if (!can) return app_leave(E_VALUE);
    if (!app_device_at(device) || !app_device_at(peer)) return app_leave(E_DEVICE);
    *can = reachable(device, peer);
    return app_leave(E_OK);
}

RT(cudaDeviceEnablePeerAccess)(int peer, unsigned flags) {
    ENTER();
    int now = app_device_now();
    if (flags) return app_leave(E_VALUE);
    if (!app_device_at(peer) || peer == now) return app_leave(E_DEVICE);
    if (!reachable(now, peer)) return app_leave(E_PEER_UNSUPPORTED);
    app_device *d = app_device_at(now);
    if (d->peers >> peer & 1) return app_leave(E_PEER_ENABLED);
    d->peers |= (uint64_t)1 << peer;
    return app_leave(E_OK);
}

RT(cudaDeviceDisablePeerAccess)(int peer) {
    ENTER();
    app_device *d = app_device_at(app_device_now());
    if (!app_device_at(peer)) return app_leave(E_DEVICE);
    if (!(d->peers >> peer & 1)) return app_leave(E_PEER_NOT_ENABLED);
    d->peers &= ~((uint64_t)1 << peer);
    return app_leave(E_OK);
}

enum { P2P_RANK = 1, P2P_ACCESS, P2P_ATOMICS, P2P_ARRAYS }; // cudaDeviceP2PAttr
RT(cudaDeviceGetP2PAttribute)(int *value, int which, int from, int to) {
    ENTER();
    if (!value || which < P2P_RANK || which > P2P_ARRAYS) return app_leave(E_VALUE);
    if (!app_device_at(from) || !app_device_at(to) || (from == to && the_app.node))
        return app_leave(E_DEVICE);
    bool nvlink = the_app.node && orr_node_nvlinked(the_app.node, from, to);
    switch (which) {
    case P2P_RANK: *value = nvlink ? 0 : 1; break; // 0 is best
    case P2P_ACCESS: *value = reachable(from, to); break;
    case P2P_ATOMICS: *value = nvlink; break;
    default: *value = 0; break;
    }
    return app_leave(E_OK);
}

// ---- managed memory -----------------------------------------------------------------------------
// Moved on the node's links when --node says what they are; else nothing is known of the way, and it takes
// no time. What is moved are the pages that it says.
int app_prefetch(const void *p, uint64_t bytes, int device, void *stream) {
    app_block *b = app_block_of((uintptr_t)p);
    app_stream *s = app_stream_of(stream);
    if (!b || b->place == PLACE_HOST) return app_place(p) == PLACE_HOST ? E_VALUE : E_OK;
    if (!s) return E_HANDLE;
    if (device != -1 && !app_device_at(device)) return E_DEVICE; // cudaCpuDeviceId is -1
    if (b->place == PLACE_MANAGED) app_pending_finish(s);
    if (b->place == PLACE_MANAGED)
        app_managed_move(s, b, device < 0 ? -1 : app_device_index(device), (uintptr_t)p, bytes);
    return E_OK;
}
