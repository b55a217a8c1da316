#include "conformance.h"

int main(void) { return conformance(LW_ENGINE_CUDA); }
