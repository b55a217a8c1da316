#include "conv2d_conformance.h"

int main(void) { return conv2d_conformance(LW_ENGINE_CUDA); }
