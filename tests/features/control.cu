// Control flow: nested loops with every way out, switches, goto, recursion, calls through pointers and
// virtual functions, with all lanes of a warp on different ways.
#include "check.h"

// Each loop nest counts; sums are compared with closed forms.
KERNEL loops(int *out) {
    int t = thread_index(), bad = 0, n = 0;
    for (int i = 0; i < t % 7; i++) // breaks, continues
        for (int j = 0;; j++) {
            if (j == i) continue;
            if (j > t % 5) break;
            n++;
        }
    int want = 0;
    for (int i = 0; i < t % 7; i++) want += t % 5 + 1 - (i <= t % 5);
    CHECK(n == want);
    int a = t + 1, b = 36, steps = 0; // Euclid, do-while
    do {
        int r = a % b;
        a = b, b = r, steps++;
    } while (b);
    int g = 1;
    for (int d = 1; d <= 36; d++)
        if ((t + 1) % d == 0 && 36 % d == 0) g = d;
    CHECK(a == g && steps > 0);
    unsigned c = t + 1, len = 0; // Collatz
    while (c != 1) {
        c = c & 1 ? 3 * c + 1 : c / 2;
        if (++len > 1000) break;
    }
    if (t == 26) CHECK(len == 111); // 27 takes 111 steps
    if (t == 53) CHECK(len == 112);
    CHECK(c == 1);
    out[t] = bad;
}

KERNEL early(int *out) { // returns from inside loops and conditions
    int t = thread_index();
    out[t] = 1;
    if (t % 3 == 0) {
        if (t % 2) {
            out[t] = 100 + t;
            return;
        }
        for (int i = 0;; i++)
            if (i * i > t) {
                out[t] = i;
                return;
            }
    }
    for (int i = 0; i < 50; i++) {
        if (i == t % 50) {
            out[t] = 1000 + i;
            return;
        }
    }
    out[t] = -5;
}

__device__ int seven(int x) { return x * 7; }

KERNEL switches(int *out) {
    int t = thread_index(), bad = 0;
    int k = hide(t % 13), v = 0;
    switch (k) { // dense: a table
    case 0: v = 3; break;
    case 1: v = k * 11 + t; break;
    case 2: v = 2; // falls through
    case 3: v += 40; break;
    case 4: v = t ^ 5; break;
    case 5: v = seven(t); break;
    case 6: v = t * t; break;
    case 7:
        for (int i = 0; i < t; i++) v += i;
        break;
    case 8: v = -t; break;
    case 9: v = t >> 1; break;
    case 10: v = t << 3; break;
    default: v = -1;
    }
    CHECK(v == (k == 0 ? 3 : k == 1 ? 11 + t : k == 2 ? 42 : k == 3 ? 40 : k == 4 ? (t ^ 5) : k == 5 ? t * 7 : k == 6 ? t * t : k == 7 ? t * (t - 1) / 2 : k == 8 ? -t : k == 9 ? t / 2 : k == 10 ? t * 8 : -1));
    switch (hide((t % 5) * 1000003)) { // sparse
    case 0: v = 1; break;
    case 1000003: v = 2; break;
    case 3000009: v = 4; break;
    case 4000012: v = 5; break;
    default: v = 3;
    }
    CHECK(v == t % 5 + 1);
    // a small machine in a loop: Duff's device
    int count = t % 29 + 1, n = (count + 3) / 4, copied = 0;
    switch (count % 4) {
    case 0:
        do {
            copied++;
        case 3: copied++;
        case 2: copied++;
        case 1: copied++;
        } while (--n > 0);
    }
    CHECK(copied == count);
    out[t] = bad;
}

// Enough different cases for a jump table.
__device__ __noinline__ int dispatch(int op, int a, int b) {
    int r;
    switch (op) {
    case 0: asm volatile("add.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 1: asm volatile("sub.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 2: asm volatile("mul.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 3: asm volatile("and.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 4: asm volatile("or.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 5: asm volatile("xor.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 6: asm volatile("min.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 7: asm volatile("max.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); break;
    case 8: return dispatch(1, dispatch(0, a, b), b);
    case 9: asm volatile("not.b32 %0, %1;" : "=r"(r) : "r"(a)); break;
    case 10: asm volatile("neg.s32 %0, %1;" : "=r"(r) : "r"(b)); break;
    case 11: asm volatile("shl.b32 %0, %1, 3;" : "=r"(r) : "r"(a)); break;
    default: r = -1;
    }
    return r;
}

KERNEL tables(int *out) {
    int t = thread_index(), bad = 0, a = t * 5 - 100, b = 40 - t;
    int want[] = {a + b, a - b, a * b, a & b, a | b, a ^ b, min(a, b), max(a, b), a, ~a, -b, a * 8, -1, -1};
#pragma unroll 1
    for (int i = 0; i < 14; i++) {
        int op = (i + t) % 14;
        CHECK(dispatch(op, a, b) == want[op]); // every lane its own
        CHECK(dispatch(i, a, b) == want[i]);   // all the same
    }
    out[t] = bad;
}

__device__ __noinline__ int jump(unsigned i, int a) {
    int r;
    asm volatile("{\n"
                 "targets: .branchtargets one, two, three, one, four;\n"
                 "brx.idx %1, targets;\n"
                 "one: add.s32 %0, %2, 1; bra end;\n"
                 "two: add.s32 %0, %2, 20; bra end;\n"
                 "three: mul.lo.s32 %0, %2, 3; bra end;\n"
                 "four: neg.s32 %0, %2;\n"
                 "end: }"
                 : "=r"(r)
                 : "r"(i), "r"(a));
    return r;
}
KERNEL jumps(int *out) { // brx.idx
    int t = thread_index(), bad = 0;
#pragma unroll 1
    for (int i = 0; i < 5; i++) {
        int want[] = {t + 1, t + 20, t * 3, t + 1, -t};
        CHECK(jump(i, t) == want[i]);
        CHECK(jump((i + t) % 5, t) == want[(i + t) % 5]);
    }
    out[t] = bad;
}

KERNEL gotos(int *out) { // a jump into the middle of a loop, and backwards
    int t = thread_index(), bad = 0, i = 0, sum = 0;
    if (t & 1) goto middle;
again:
    sum += 10;
middle:
    sum += 1;
    if (++i < t % 6) goto again;
    if (t % 4 == 2) {
        if (sum > 1000) goto done;
        sum += 1000;
        goto again;
    }
done:
    int rounds = t % 6 > 1 ? t % 6 : 1, want = t & 1 ? rounds * 11 - 10 : rounds * 11;
    if (t % 4 == 2) want += 1000 + 11; // and once more from the top, since i has passed its bound
    CHECK(sum == want);
    out[t] = bad;
}

// ---- functions --------------------------------------------------------------------------------
__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ int hanoi(int n, int from, int to, int *moves) { // pegs 0, 1, 2
    if (n == 0) return 0;
    int via = 3 - from - to, deepest = hanoi(n - 1, from, via, moves);
    moves[0]++, moves[1] += from * 3 + to;
    hanoi(n - 1, via, to, moves);
    return deepest + 1;
}
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n && even(n - 1); }
__device__ __noinline__ void quicksort(int *a, int lo, int hi) {
    while (lo < hi) {
        int p = a[(lo + hi) / 2], i = lo, j = hi;
        while (i <= j) {
            while (a[i] < p) i++;
            while (a[j] > p) j--;
            if (i <= j) {
                int x = a[i];
                a[i++] = a[j], a[j--] = x;
            }
        }
        if (j - lo < hi - i)
            quicksort(a, lo, j), lo = i;
        else
            quicksort(a, i, hi), hi = j;
    }
}

KERNEL recursion(int *out) {
    int t = thread_index(), bad = 0;
    CHECK(ackermann(t % 3, t % 4) == (t % 3 == 0 ? t % 4 + 1 : t % 3 == 1 ? t % 4 + 2 : 2 * (t % 4) + 3));
    int moves[2] = {0, 0};
    CHECK(hanoi(t % 6, 0, 2, moves) == t % 6 && moves[0] == (1 << t % 6) - 1);
    const int fibs[] = {0, 1, 1, 2, 3, 5, 8, 13};
    CHECK(fib(t % 8) == fibs[t % 8]);
    CHECK(even(t % 9) == (t % 9 % 2 == 0));
    int a[16];
#pragma unroll 1
    for (int i = 0; i < 16; i++) a[i] = (int)(mix(t * 16 + i) % 100);
    int sum = 0, after = 0;
#pragma unroll 1
    for (int i = 0; i < 16; i++) sum += a[i];
    quicksort(a, 0, 15);
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        after += a[i];
        if (i) CHECK(a[i - 1] <= a[i]);
    }
    CHECK(sum == after);
    out[t] = bad;
}

typedef int (*binary)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int larger(int a, int b) { return a > b ? a : b; }
__device__ binary table[4] = {plus, minus, times, larger}; // addresses of functions in memory
__constant__ binary const_table[2] = {larger, plus};

template <class F> __device__ __noinline__ int apply(F f, int x) { return f(x) + f(x + 1); }

KERNEL pointers(int *out, int chosen) {
    int t = thread_index(), bad = 0, x = t * 3 - 50, y = 21 - t;
    int want[] = {x + y, x - y, x * y, x > y ? x : y};
    CHECK(table[t % 4](x, y) == want[t % 4]); // four ways in a warp
    CHECK(table[chosen](x, y) == want[chosen]); // one way
    CHECK(const_table[t & 1](x, y) == want[t & 1 ? 0 : 3]);
    binary f = t % 3 ? (t & 1 ? plus : minus) : times;
    CHECK(f(x, y) == (t % 3 ? (t & 1 ? x + y : x - y) : x * y));
    if (t > 20) f = table[(t + 1) % 4];
    for (int i = 0; i < t % 3; i++) CHECK(f(i, t) == (t > 20 ? (t + 1) % 4 == 0 ? i + t : (t + 1) % 4 == 1 ? i - t : (t + 1) % 4 == 2 ? i * t : (i > t ? i : t) : t & 1 ? i + t : i - t));
    int k = t + 5;
    CHECK(apply([k](int v) { return v * k; }, 3) == 7 * k);
    out[t] = bad;
}

struct Shape {
    int id;
    __device__ Shape(int id) : id(id) {}
    __device__ virtual int area() const = 0;
    __device__ virtual int twice() const { return 2 * area(); }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    int side;
    __device__ Square(int id, int s) : Shape(id), side(s) {}
    __device__ int area() const override { return side * side; }
};
struct Rect : Square {
    int other;
    __device__ Rect(int id, int a, int b) : Square(id, a), other(b) {}
    __device__ int area() const override { return side * other; }
    __device__ int twice() const override { return Shape::twice() + 1; }
};
struct Named {
    __device__ virtual int name() const { return 5; }
};
struct Both : Named, Shape { // the second base needs an adjusted `this`
    int n;
    __device__ Both(int id) : Shape(id), n(id + 1) {}
    __device__ int area() const override { return n * 100; }
    __device__ int name() const override { return n; }
};

__device__ __noinline__ int measure(const Shape *s) { return s->area() + 1000 * (s->twice() - 2 * s->area()) + s->id; }

KERNEL virtuals(int *out) {
    int t = thread_index(), bad = 0;
    Square s(t, t + 1);
    Rect r(t, 3, t);
    Both b(t);
    const Shape *p = t % 3 == 0 ? (const Shape *)&s : t % 3 == 1 ? (const Shape *)&r : (const Shape *)&b;
    CHECK(measure(p) == (t % 3 == 0 ? (t + 1) * (t + 1) + t : t % 3 == 1 ? 3 * t + 1000 + t : (t + 1) * 100 + t));
    Named plain;
    const Named *n = hide(t & 1) ? (const Named *)&b : &plain;
    CHECK(n->name() == (t & 1 ? t + 1 : 5));
    out[t] = bad;
}
