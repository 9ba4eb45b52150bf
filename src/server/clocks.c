#include "server/clocks.h"

static int64_t lap_mono_us(void *arg)
{
	const struct clocks *c = arg;

	return c->lap_ns / 1000;
}

static int64_t lap_wall_us(void *arg)
{
	const struct clocks *c = arg;

	return c->wall_us + lap_mono_us(arg) - c->mono_us;
}

/* The lap may be older than the boot clock. */
static int64_t lap_boot_us(void *arg)
{
	return lap_mono_us(arg) + (clock_boot_us() - clock_mono_us());
}

static void read_clocks(struct clocks *c)
{
	c->is_read = true;
	c->lap_ns = clock_mono_ns();
	c->mono_us = c->lap_ns / 1000;
	c->wall_us = clock_wall_us();
}

void clocks_init(struct clocks *c)
{
	struct clock_source laps = { lap_wall_us, lap_mono_us, lap_boot_us, c };

	*c = (struct clocks){ 0 };
	read_clocks(c);
	c->started_mono_us = c->mono_us;
	c->started_wall_us = c->wall_us;
	steady_clock_init(&c->native, &laps);
	c->turn_us = steady_clock_peek_us(&c->native);
}

void clocks_begin_turn(struct clocks *c)
{
	c->is_read = false;
}

void clocks_read(struct clocks *c)
{
	if (c->is_read)
		return;
	read_clocks(c);
	c->turn_us = steady_clock_peek_us(&c->native);
}
