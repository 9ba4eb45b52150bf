/*
 * The server of a test that lets time pass: its clock is ahead of that of the machine. One test
 * file includes this once.
 */
#ifndef TESTS_AHEAD_SERVER_H
#define TESTS_AHEAD_SERVER_H

#include "ahead.h"
#include "peer.h"
#include "unit.h"

static struct qlessd q;
static struct peer *p;
static struct ahead ahead;

void setUp(void)
{
	ahead_init(&ahead);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

/* Let time pass. The server looks at its clock when it gets a command. */
static void pass(double seconds)
{
	ahead_pass(&ahead, &q, seconds);
	ASK(p, "PING", "+PONG\r\n");
}

#endif
