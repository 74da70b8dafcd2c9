// The page that say_html.c fills (private to lab/): page.html as bytes, made by CMake, a 0 behind the last.
#ifndef ORR_LAB_PAGE_H
#define ORR_LAB_PAGE_H

extern const unsigned char lab_page[];

#endif
