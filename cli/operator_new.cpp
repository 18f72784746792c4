// Part of core/tensor/text_meter.h: the program's operator new, for core/base/heap_limit.h, too; std::string cannot
// tell what a kernel's texts take, nor a vector what a table does.
#include <malloc.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "core/base/heap_limit.h"
#include "core/tensor/text_meter.h"

using emplace::HeapLimit;
using emplace::TextMeter;

// The other forms of new and delete end in these, or take no texts.
void* operator new(size_t size) {
  if (TextMeter* meter = TextMeter::of_thread()) [[unlikely]]
    meter->take(TextMeter::footprint(size));
  HeapLimit::take(size);
  void* memory = std::malloc(size ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

// By default it ends in the one above; a sanitizer's does not, and would be given back to the one below.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    const HeapLimit no_limit = HeapLimit::none();  // who asks so makes do with nothing, and what follows is refused
    return operator new(size);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void operator delete(void* memory) noexcept {
  if (TextMeter* meter = TextMeter::of_thread(); meter && memory) [[unlikely]]
    meter->give_back(TextMeter::footprint(malloc_usable_size(memory)));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
