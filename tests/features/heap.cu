// The device heap: malloc, free, new, delete, from all lanes and from diverged ones, memory that lives from
// launch to launch.
#include <new>

#include "check.h"

struct Node {
    Node *next;
    int value;
    __device__ Node(Node *n, int v) : next(n), value(v) {}
};
struct Counted {
    int *n;
    __device__ Counted() {}
    __device__ ~Counted() { atomicAdd(n, 1); }
};
struct Base {
    __device__ virtual int who() { return 1; }
    __device__ virtual ~Base() {}
};
struct Derived : Base {
    ll x[3];
    __device__ Derived(int v) { x[0] = x[1] = x[2] = v; }
    __device__ int who() override { return (int)(x[0] + x[1] + x[2]); }
};

KERNEL lists(int *out) {
    int t = thread_index(), bad = 0;
    Node *list = nullptr;
    for (int i = 0; i < t % 9; i++) list = new Node(list, i * t);
    int sum = 0, n = 0;
    for (Node *p = list; p; p = p->next) sum += p->value, n++;
    CHECK(n == t % 9 && sum == t * (n * (n - 1) / 2));
    while (list) {
        Node *next = list->next;
        delete list;
        list = next;
    }
    Base *b = t & 1 ? new Derived(t) : new Base;
    CHECK(b->who() == (t & 1 ? 3 * t : 1));
    delete b;
    int *a = new int[t + 1];
    for (int i = 0; i <= t; i++) a[i] = i;
    CHECK(a[t] == t && a[t / 2] == t / 2);
    delete[] a;
    out[t] = bad;
}

KERNEL blocks(int *out) { // one allocates for all
    __shared__ int *mem;
    __shared__ int dead;
    __shared__ Counted *objects;
    int t = threadIdx.x, bad = 0;
    if (t == 0) mem = (int *)malloc(64 * sizeof(int)), dead = 0;
    __syncthreads();
    CHECK(mem != nullptr && ((ull)mem & 15) == 0);
    mem[t] = t * 9;
    __syncthreads();
    CHECK(mem[63 - t] == (63 - t) * 9);
    __syncthreads();
    if (t == 0) {
        free(mem);
        objects = new Counted[10];
        for (int i = 0; i < 10; i++) objects[i].n = &dead;
        delete[] objects;
        free(nullptr);
    }
    __syncthreads();
    CHECK(dead == 10);
    void *big = malloc((size_t)1 << 45); // more than there is
    CHECK(big == nullptr);
    out[blockIdx.x * 64 + t] = bad;
}

__device__ int *kept[32];
KERNEL keep(int *out) {
    int t = threadIdx.x, bad = 0;
    kept[t] = (int *)malloc((t + 1) * 4);
    for (int i = 0; i <= t; i++) kept[t][i] = t * 100 + i;
    for (int u = 0; u < 32; u++) CHECK(u == t || kept[u] != kept[t] || kept[u] == nullptr);
    out[t] = bad;
}
KERNEL kept_over(int *out) { // in the next launch, by another thread
    int t = 31 - (int)threadIdx.x, bad = 0;
    for (int i = 0; i <= t; i++) CHECK(kept[t][i] == t * 100 + i);
    free(kept[t]);
    out[t] = bad;
}
