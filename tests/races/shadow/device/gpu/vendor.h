// Stands before the header of the same name: words and threads are those of the CPU.
#pragma once

#include "device/gpu/system_words.h"
