/// The stand-in's memory: the heap, filled with a pattern; page-locked memory is remembered, since copies from and to
/// it are the only ones that do not wait.
#pragma once

#include <cstddef>

namespace emplace::standin {

/// Fills memory that holds no value (yet, or any longer).
void spoil(void* data, size_t bytes);
/// Puts spoiled memory at these addresses (whole pages of the machine) in place of what is there. A page is real once
/// it is written: a card's whole memory costs what is used of it.
bool map_spoiled(void* at, size_t bytes);
bool is_page_locked(const void* p);
bool is_device_memory(const void* p);
bool has_device_memory();

}  // namespace emplace::standin
