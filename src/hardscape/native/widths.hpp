// The widths of exact integers that the core is compiled for.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace hardscape {

// Calls body.template operator()<Limbs>() for the width asked for.
template <class Body>
auto for_width(std::size_t limbs, Body&& body) {
  switch (limbs) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 4:
      return body.template operator()<4>();
    case 36:
      return body.template operator()<36>();
  }
  throw std::invalid_argument("integers of " + std::to_string(limbs) +
                              " words are not compiled in");
}

}  // namespace hardscape
