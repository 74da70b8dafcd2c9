// libnvidia-ml.so.1: what programs ask of NVIDIA's management library, PyTorch and its monitors among them.
// What a GPU is, is answered; what a driver measures (temperature, power, clocks at work) is not supported; a
// simulated GPU is never busy and has no processes but this one. Functions that are not here are found
// missing by who looks for them, as in an older library.
#include "app/dr.h"

#include <string.h>

enum { NVML_OK, NVML_UNINITIALIZED, NVML_ARGUMENT, NVML_NOT_SUPPORTED, NVML_NOT_FOUND = 6, NVML_SIZE = 7 };
enum { ATTRIBUTE_CLOCK = 13, ATTRIBUTE_MEMORY_CLOCK = 36, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

int orr_cudaDeviceGetByPCIBusId(int *device, const char *id);

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;
typedef struct nvml_memory_2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} nvml_memory_2;
typedef struct nvml_pci {
    char short_id[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} nvml_pci;

// ---- the library ----------------------------------------------------------------------------------------
API int nvmlInit_v2(void) { return app_leave_driver(app_enter()) ? NVML_UNINITIALIZED : NVML_OK; }
API int nvmlInit(void) { return nvmlInit_v2(); }
API int nvmlInitWithFlags(unsigned flags) { return (void)flags, nvmlInit_v2(); }
API int nvmlShutdown(void) { return NVML_OK; }

API const char *nvmlErrorString(int error) {
    static const char *const text[] = {[NVML_OK] = "Success",
                                       [NVML_UNINITIALIZED] = "Uninitialized",
                                       [NVML_ARGUMENT] = "Invalid Argument",
                                       [NVML_NOT_SUPPORTED] = "Not Supported",
                                       [NVML_NOT_FOUND] = "Not Found",
                                       [NVML_SIZE] = "Insufficient Size"};
    bool known = error >= 0 && error < (int)(sizeof text / sizeof *text) && text[error];
    return known ? text[error] : "Unknown Error";
}

static int say(char *to, unsigned n, const char *text) {
    size_t bytes = strlen(text) + 1;
    if (!to) return NVML_ARGUMENT;
    if (bytes > n) return NVML_SIZE;
    memcpy(to, text, bytes);
    return NVML_OK;
}
API int nvmlSystemGetDriverVersion(char *to, unsigned n) { return say(to, n, "580.00"); }
API int nvmlSystemGetNVMLVersion(char *to, unsigned n) { return say(to, n, "13.580.00"); }
API int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    if (!version) return NVML_ARGUMENT;
    *version = 13000; // as cudaDriverGetVersion
    return NVML_OK;
}
API int nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

// ---- devices: a handle is 1 + the device's number -----------------------------------------------
static int handle_of(int device, void **handle) {
    if (!handle) return NVML_ARGUMENT;
    if (!app_device_at(device)) return NVML_NOT_FOUND;
    *handle = (void *)((uintptr_t)device + 1);
    return NVML_OK;
}
static bool known(const void *handle, int *device) {
    *device = (int)(uintptr_t)handle - 1;
    return the_app.gpu && (uintptr_t)handle - 1 < (uintptr_t)app_device_count() && app_device_at(*device);
}

API int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!count || nvmlInit_v2()) return NVML_ARGUMENT;
    *count = (unsigned)app_device_count();
    return NVML_OK;
}
API int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    int error = nvmlInit_v2();
    return error ? error : handle_of(index < 1u << 20 ? (int)index : -1, handle);
}
API int nvmlDeviceGetHandleByIndex(unsigned index, void **handle) {
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}
API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **handle) {
    int device;
    if (!id || nvmlInit_v2()) return NVML_ARGUMENT;
    return BY_RUNTIME(orr_cudaDeviceGetByPCIBusId(&device, id)) ? NVML_NOT_FOUND : handle_of(device, handle);
}
API int nvmlDeviceGetHandleByPciBusId(const char *id, void **handle) {
    return nvmlDeviceGetHandleByPciBusId_v2(id, handle);
}

// As the driver's: the bytes of "orrery simulated" with the number of the device (cuDeviceGetUuid).
static void uuid_text(int device, char text[48]) {
    char id[17] = "orrery simulated";
    id[6] = (char)(device ? '0' + device : ' ');
    int at = snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, 48 - (size_t)at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       (unsigned char)id[i]);
}
API int nvmlDeviceGetUUID(void *handle, char *to, unsigned n) {
    int device;
    char text[48];
    if (!known(handle, &device)) return NVML_ARGUMENT;
    uuid_text(device, text);
    return say(to, n, text);
}
API int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    char text[48];
    if (!uuid || nvmlInit_v2()) return NVML_ARGUMENT;
    for (int i = 0; i < app_device_count(); i++) {
        uuid_text(i, text);
        if (!strcmp(text, uuid)) return handle_of(i, handle);
    }
    return NVML_NOT_FOUND;
}

// ---- what a device is ---------------------------------------------------------------------------
API int nvmlDeviceGetName(void *handle, char *to, unsigned n) {
    int device;
    char text[160];
    if (!known(handle, &device)) return NVML_ARGUMENT;
    snprintf(text, sizeof text, "%.120s (simulated)", the_app.gpu->product);
    return say(to, n, text);
}
API int nvmlDeviceGetIndex(void *handle, unsigned *index) {
    int device;
    if (!index || !known(handle, &device)) return NVML_ARGUMENT;
    *index = (unsigned)device;
    return NVML_OK;
}
API int nvmlDeviceGetMinorNumber(void *handle, unsigned *minor) { return nvmlDeviceGetIndex(handle, minor); }
API int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    int device;
    if (!major || !minor || !known(handle, &device)) return NVML_ARGUMENT;
    app_attribute(ATTRIBUTE_MAJOR, device, major);
    app_attribute(ATTRIBUTE_MINOR, device, minor);
    return NVML_OK;
}
API int nvmlDeviceGetPciInfo_v3(void *handle, nvml_pci *pci) {
    int device;
    if (!pci || !known(handle, &device)) return NVML_ARGUMENT;
    *pci = (nvml_pci){.bus = (unsigned)(device + 1) & 0xff};
    snprintf(pci->short_id, sizeof pci->short_id, "0000:%02x:00.0", pci->bus); // as cudaDeviceGetPCIBusId
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02x:00.0", pci->bus);
    return NVML_OK;
}
API int nvmlDeviceGetPciInfo_v2(void *handle, nvml_pci *pci) { return nvmlDeviceGetPciInfo_v3(handle, pci); }
API int nvmlDeviceGetMaxClockInfo(void *handle, unsigned which,
                                  unsigned *mhz) { // 0, 1: graphics, SM; 2: memory
    int device, khz;
    if (!mhz || which > 2 || !known(handle, &device)) return NVML_ARGUMENT;
    app_attribute(which == 2 ? ATTRIBUTE_MEMORY_CLOCK : ATTRIBUTE_CLOCK, device, &khz);
    *mhz = (unsigned)khz / 1000;
    return NVML_OK;
}

// ---- what it does -------------------------------------------------------------------------------
API int nvmlDeviceGetMemoryInfo(void *handle, nvml_memory *m) {
    int device;
    if (!m || !known(handle, &device)) return NVML_ARGUMENT;
    app_enter();
    m->total = the_app.gpu->dram_size;
    m->used = app_device_at(device)->used;
    m->free = m->total > m->used ? m->total - m->used : 0;
    return app_leave_driver(NVML_OK);
}
API int nvmlDeviceGetMemoryInfo_v2(void *handle, nvml_memory_2 *m) {
    nvml_memory all;
    int error = m ? nvmlDeviceGetMemoryInfo(handle, &all) : NVML_ARGUMENT;
    if (!error) *m = (nvml_memory_2){m->version, all.total, 0, all.free, all.used};
    return error;
}
API int nvmlDeviceGetUtilizationRates(void *handle, unsigned percent[2]) { // of the GPU, of its memory
    int device;
    if (!percent || !known(handle, &device)) return NVML_ARGUMENT;
    percent[0] = percent[1] = 0;
    return NVML_OK;
}
#define NO_PROCESSES(name)                                                                                   \
    API int name(void *handle, unsigned *n, void *processes) {                                               \
        (void)processes;                                                                                     \
        int device;                                                                                          \
        if (!n || !known(handle, &device)) return NVML_ARGUMENT;                                             \
        *n = 0;                                                                                              \
        return NVML_OK;                                                                                      \
    }
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)

// Whatever their other arguments are.
#define NOT_SUPPORTED(name)                                                                                  \
    API int name(void *handle) { return (void)handle, NVML_NOT_SUPPORTED; }
NOT_SUPPORTED(nvmlDeviceGetTemperature)
NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
NOT_SUPPORTED(nvmlDeviceGetTotalEnergyConsumption)
NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimit)
NOT_SUPPORTED(nvmlDeviceGetEnforcedPowerLimit)
NOT_SUPPORTED(nvmlDeviceGetClockInfo)
NOT_SUPPORTED(nvmlDeviceGetFanSpeed)
NOT_SUPPORTED(nvmlDeviceGetMigMode)
NOT_SUPPORTED(nvmlDeviceGetNvLinkState)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemoteDeviceType)
NOT_SUPPORTED(nvmlDeviceGetGpuFabricInfo)
NOT_SUPPORTED(nvmlDeviceGetGpuFabricInfoV)
NOT_SUPPORTED(nvmlDeviceGetCurrentClocksThrottleReasons)
NOT_SUPPORTED(nvmlDeviceGetCpuAffinity)
NOT_SUPPORTED(nvmlDeviceSetCpuAffinity)
