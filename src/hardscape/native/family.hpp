// A family's part of an extension module. Its sources define objects of this,
// which fill the submodule of its name: nothing else has to know the family.
#pragma once

#include <nanobind/nanobind.h>

namespace hardscape {

namespace nb = nanobind;

namespace native {

struct Family {
  using Bind = void (*)(nb::module_& module);

  Family(const char* name, Bind bind) : name(name), bind(bind), next(first()) { first() = this; }
  Family(const Family&) = delete;

  // The families of this extension module, in no order.
  static Family*& first() {
    static Family* family = nullptr;
    return family;
  }

  const char* name;
  Bind bind;
  Family* next;
};

}  // namespace native
}  // namespace hardscape
