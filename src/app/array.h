// Arrays, textures and surfaces of programs: cudaArray_t, cudaTextureObject_t and their like.
#ifndef ORR_APP_ARRAY_H
#define ORR_APP_ARRAY_H

#include "app/app.h"
#include "exec/texture.h"

typedef struct { // cudaChannelFormatDesc
    int bits[4], kind;
} channel_desc;
enum { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT, CHANNEL_NONE };
enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4, ARRAY_GATHER = 8 };

struct app_array {
    orr_texture t; // where its texels lie
    channel_desc channels;
    extent size; // as the program asked for it
    unsigned flags;
    uint32_t level;          // of a mipmapped array
    struct app_array *whole; // that it is a level of; NULL: it is itself whole
    struct app_array *levels[ORR_TEX_LEVELS];
    struct app_array *next;
};

typedef struct { // cudaResourceDesc, cudaTextureDesc: see the manual for what each means
    int type;
    union {
        app_array *array;
        struct {
            void *at;
            channel_desc channels;
            size_t bytes;
        } linear;
        struct {
            void *at;
            channel_desc channels;
            size_t width, height, pitch;
        } pitch;
        int reserved[32];
    } of;
    unsigned flags;
} resource_desc;
enum { RESOURCE_ARRAY, RESOURCE_MIPMAP, RESOURCE_LINEAR, RESOURCE_PITCH };
typedef struct {
    int address[3], filter, read, srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mip_filter;
    float bias, min_level, max_level;
    int no_trilinear, seamless;
} texture_desc;

// E_*; the lock is held.
int app_array_new(const channel_desc *c, extent size, unsigned levels, unsigned flags, app_array **a);
int app_array_free(app_array *a);
app_array *app_array_of(void *handle); // NULL: there is no such
int app_channels_format(const channel_desc *c, uint8_t *format, uint8_t *channels);
int app_texture_new(const resource_desc *r, const texture_desc *d, uint64_t *handle);
int app_surface_new(const resource_desc *r, uint64_t *handle);
int app_texture_free(uint64_t handle);
const resource_desc *app_texture_resource(uint64_t handle); // NULL: none
const texture_desc *app_texture_how(uint64_t handle);
// One row of bytes, from byte x of row y of slice or layer z on; false: it is not inside.
bool app_array_row(const app_array *a, position at, size_t bytes, void *host, bool write);

#endif
