// The parts of the CUDA driver that cuDNN needs to build plans without a
// device, as libcuda.so.1 for machines without a driver. Code can be loaded and
// looked up, but not run.

#define NO_DEVICE 100

// The target of opaque handles.
static int something;

#define REFUSE(name) \
  int name(void) { return NO_DEVICE; }
#define ACCEPT(name) \
  int name(void) { return 0; }
#define GIVE(name)          \
  int name(void** handle) { \
    *handle = &something;   \
    return 0;               \
  }

REFUSE(cuCtxGetCurrent)
REFUSE(cuCtxGetLimit)
REFUSE(cuCtxPopCurrent)
REFUSE(cuCtxPushCurrent)
REFUSE(cuDeviceGet)
REFUSE(cuDeviceGetCount)
REFUSE(cuGetErrorName)
REFUSE(cuGetErrorString)
REFUSE(cuLaunchCooperativeKernel)
REFUSE(cuLaunchKernel)
REFUSE(cuLaunchKernelEx)
REFUSE(cuLinkAddData)
REFUSE(cuLinkComplete)
REFUSE(cuLinkCreate)
REFUSE(cuLinkDestroy)
REFUSE(cuStreamGetCtx)

ACCEPT(cuKernelSetAttribute)
ACCEPT(cuLibraryUnload)
ACCEPT(cuModuleUnload)
ACCEPT(cuTensorMapEncodeIm2col)
ACCEPT(cuTensorMapEncodeTiled)

GIVE(cuKernelGetFunction)
GIVE(cuLibraryGetKernel)
GIVE(cuLibraryLoadData)
GIVE(cuLibraryLoadFromFile)
GIVE(cuModuleGetFunction)
GIVE(cuModuleLoadData)

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuKernelGetAttribute(int* value) {
  *value = 0;
  return 0;
}

int cuOccupancyMaxPotentialClusterSize(int* size) {
  *size = 8;
  return 0;
}
