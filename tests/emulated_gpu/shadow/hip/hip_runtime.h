// Stands before HIP's: what the kernels' headers use of it.
#pragma once

#include "emulation.h"
