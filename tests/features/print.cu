// printf: every conversion that CUDA has, flags, widths, several threads. print.txt has what comes out.
#include <stdio.h>

#include "check.h"

KERNEL print(int *out, int n) {
    int r = printf("no arguments, 100%%\n");
    int bad = 0;
    CHECK(r == 0);
    r = printf("%d %i %u %x %X %o %c|%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", n, -n, 4294967295u, 255, 255, 8, 'A', n, n, n, n, n, 255, 8);
    CHECK(r == 14);
    printf("%ld %lld %lu %llu %lx %llX %hd\n", -5000000000l, -5000000000ll, 5000000000ul, 18446744073709551615ull, 0x123456789al, 0x123456789aLL, (short)-3);
    printf("%f %.2f %10.3f %-10.1f| %e %.3E %g %G %g\n", 1.5, 3.14159, 2.71828, -0.05, 12345.678, 0.00012345, 0.0001, 1e20, 100000.0);
    printf("%a %A\n", 1.0, 0.5);
    printf("%f %f %f\n", 1.0f / 0.0f, -1.0 / 0.0, (float)n);
    printf("%s|%10s|%-10s|%.3s\n", "text", "right", "left", "truncated");
    printf("%c%c%c %s\n", 'x', 'y', 'z', n > 3 ? "chosen" : "other");
    printf("%5.1f%% of %zu\n", 99.5, sizeof(int));
    printf("%p\n", (void *)0x1234abcd);
    printf("%08.3f|%+.1e|%#g|%3c|%%d\n", -3.5, 1e-5, 2.0, 'q');
    printf("%d %f %lld %c %s %e %x\n", 1, 2.0, 3ll, '4', "5", 6.0, 7);
    out[0] = bad;
}
KERNEL lanes(int *out) { // in the order of the lanes that are active
    int t = threadIdx.x;
    if (t % 3 == 1) printf("thread %d of block %d: %d\n", t, blockIdx.x, t * t);
    out[t] = 0;
}
