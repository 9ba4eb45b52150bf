/*
 * Output: a line while the benchmark runs, then a table or JSON.
 */
#ifndef BENCHMARK_REPORT_H
#define BENCHMARK_REPORT_H

struct bench;

/* Update the progress line, if there is one and it is time. */
void report_progress(struct bench *b);
/* Remove the progress line. */
void report_end_progress(struct bench *b);

/* Print the result to standard output, and complaints to standard error. */
void report_table(struct bench *b);
void report_json(struct bench *b);

#endif
