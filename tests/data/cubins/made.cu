// Two kernels for tests of line tables, and a function of another file.
// Built by: nvcc -lineinfo -cubin -arch=sm_NN made.cu -o made_NN.cubin
#include "scale.cuh"

__global__ void saxpy(int count, float factor, const float *x, float *y) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count) {
        y[place] = leaky(factor * x[place] + y[place]);
    }
}

template <typename T>
__global__ void row_sum(const T *rows, T *sums, int width) {
    T sum = 0;
#pragma unroll 1
    for (int column = 0; column < width; column += 1) {
        sum += rows[threadIdx.x * width + column];
    }
    sums[threadIdx.x] = sum;
}

template __global__ void row_sum<float>(const float *, float *, int);
