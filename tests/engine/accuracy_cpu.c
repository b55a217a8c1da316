#include "conformance.h"

int main(void) { return accuracy(LW_ENGINE_CPU); }
