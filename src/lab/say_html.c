// A comparison as one page that a browser opens without any other file: page.html with the points in it.
#include "lab/lab.h"
#include "lab/page.h"

void orr_compare_html(const orr_comparison *c, orr_text *t) {
    (void)c;
    (void)t;
    (void)lab_page;
}
