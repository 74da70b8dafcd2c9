// The memory that kernels may use: the program's allocations, and its modules' variables.
#include "hook/hook.h"

#include <string.h>

void hook_add(uint64_t addr, uint64_t bytes, bool host) {
    if (!addr || !bytes) return;
    hook_remove(addr);
    *ORR_PUSH(&the_hook.regions) = (hook_region){.addr = addr, .bytes = bytes, .host = host};
}

void hook_remove(uint64_t addr) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->regions.n; i++) {
        if (h->regions.at[i].addr != addr || h->regions.at[i].symbol) continue;
        if (h->writer) orr_capture_forget(h->writer, addr, h->regions.at[i].bytes);
        h->regions.at[i] = h->regions.at[--h->regions.n];
        return;
    }
}

uint64_t hook_memory(void) {
    uint64_t n = 0;
    for (size_t i = 0; i < the_hook.regions.n; i++) n += the_hook.regions.at[i].bytes;
    return n;
}

static void write_pieces(uint32_t tag, uint64_t addr, const char *data, uint64_t bytes) {
    for (uint64_t at = 0, end; at < bytes; at = end) {
        end = (((addr + at) | (ORR_PIECE - 1)) + 1) - addr;
        if (end > bytes) end = bytes;
        orr_capture_piece(the_hook.writer, tag, addr + at, data + at, end - at);
    }
}

bool hook_write_memory(uint32_t tag) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->regions.n; i++) {
        const hook_region *r = &h->regions.at[i];
        if (r->host) {
            write_pieces(tag, r->addr, (const char *)(uintptr_t)r->addr, r->bytes);
            continue;
        }
        // Cut where pieces end, so that they are the same whatever the buffer's size.
        for (uint64_t at = r->addr, end; at < r->addr + r->bytes; at = end) {
            end = (at | (HOOK_BUFFER - 1)) + 1;
            if (end > r->addr + r->bytes) end = r->addr + r->bytes;
            if (h->cu.cuMemcpyDtoH_v2(h->buffer, at, end - at) != 0) return false;
            write_pieces(tag, at, h->buffer, end - at);
        }
    }
    return true;
}
