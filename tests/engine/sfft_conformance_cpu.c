#include "sfft_conformance.h"

int main(void) { return sfft_conformance(LW_ENGINE_CPU, 1); }
