// Boost.JSON is used header-only: this is the one translation unit that compiles it, so the plugin
// needs no shared library beside liburing.
#include <boost/json/src.hpp>
