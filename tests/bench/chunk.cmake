# Not run in CI: prints how fast chunks are made and merged beside memcpy of the same bytes.
add_executable(bench_chunk ${PROJECT_SOURCE_DIR}/tests/bench/bench_chunk.c)
target_link_libraries(bench_chunk PRIVATE hk_chunk m)
