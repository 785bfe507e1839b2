from benches.verdict import MISSED, NO_BAR, OK, OPEN, Case


def case(figure, bar, at_least=True, slack=0.0, aa_spread=None):
    return Case("x", figure, 0.0, bar, at_least, slack, aa_spread=aa_spread)


def test_noise_excuses_just_its_own_size():
    assert case(0.985, 1.0, slack=0.02).verdict == OK
    assert case(0.975, 1.0, slack=0.02).verdict == MISSED


def test_an_interval_decides_where_there_is_one():
    def measured(figure, low, high):
        return Case("x", figure, 0.0, 1.0, True, interval=(low, high)).verdict

    assert measured(1.01, 0.9, 1.1) == OK
    assert measured(0.98, 0.95, 1.01) == OPEN
    assert measured(0.97, 0.95, 0.99) == MISSED


def test_less_is_better_for_costs():
    assert case(1.04, 1.05, at_least=False).verdict == OK
    assert case(1.06, 1.05, at_least=False).verdict == MISSED
    assert case(1.06, 1.05, at_least=False, slack=0.02).verdict == OK


def test_without_a_bar_there_is_no_verdict_and_no_noise_mark():
    assert case(0.5, None).verdict == NO_BAR
    assert not case(0.5, None, aa_spread=0.3).noisy
    assert case(0.9, 1.0, aa_spread=0.3).noisy
