// What `orrery cluster` runs where there is no program: what is in a file, by the library that takes CUDA's
// place.

int orr_play_tasks(void);

int main(void) { return orr_play_tasks(); }
