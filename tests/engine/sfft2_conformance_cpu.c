#include "sfft2_conformance.h"

int main(void) { return sfft2_conformance(LW_ENGINE_CPU, 1); }
