#pragma once

// Another file than the kernels', so that its lines are told apart.
__device__ __forceinline__ float leaky(float value) {
    return value > 0.0f ? value : 0.01f * value;
}
