// Ring stands in base/ring.h: switches queue by it, too.
#pragma once

#include "base/ring.h"  // IWYU pragma: export
