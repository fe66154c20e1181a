// HS_HD marks functions that run on the host and on GPUs.
#pragma once

#if defined(__CUDACC__)
#define HS_HD __host__ __device__
#else
#define HS_HD
#endif
