#include "../reference.h"

// Binary search in the sorted list of leaf keys; the tree above them is not looked at.
void ref_btree(orr_ref *r) {
    INT(queries);
    INT(leaves);
    BUF(uint32_t, values);
    BUF(uint32_t, query);
    BUF(uint32_t, width);
    BUF(uint32_t, answer);
    BUF(uint32_t, count);
    BUF(uint32_t, sum);
    for (int64_t q = 0; q < queries; q++) {
        int64_t lo = 0, hi = leaves; // the first leaf whose key is >= query
        while (lo < hi) {
            int64_t mid = (lo + hi) / 2;
            if (5 * mid < query[q])
                lo = mid + 1;
            else
                hi = mid;
        }
        answer[q] = lo < leaves && 5 * lo == query[q] ? values[lo] : UINT32_MAX;
        uint32_t n = 0, s = 0;
        for (int64_t at = lo; at < leaves && 5 * at <= (int64_t)query[q] + width[q]; at++) {
            n++;
            s += values[at];
        }
        count[q] = n;
        sum[q] = s;
    }
}
