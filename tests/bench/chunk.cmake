# Not run in CI: prints how fast chunks are made and merged beside memcpy of the same bytes.
add_executable(bench_chunk ${PROJECT_SOURCE_DIR}/tests/bench/bench_chunk.c)
target_link_libraries(bench_chunk PRIVATE hk_chunk m)
add_test(NAME bench/chunk CONFIGURATIONS long COMMAND bench_chunk)
set_tests_properties(bench/chunk PROPERTIES LABELS "long;bench" RUN_SERIAL ON TIMEOUT 300)
