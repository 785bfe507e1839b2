from benches.blocks import abba


def test_blocks_mirror_each_other():
    order = [slot.arm for slot in abba(["all", "base", "off"], 3, seed=1)]
    assert order == ["all", "base", "off", "off", "base", "all", "all", "base", "off"]


def test_one_seed_a_block_and_another_in_the_next():
    seeds: dict[int, set[int]] = {}
    for slot in abba(["a", "b"], 9, seed=7):
        seeds.setdefault(slot.block, set()).add(slot.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 9


def test_same_seed_same_plan():
    assert list(abba(["a", "b"], 4, seed=3)) == list(abba(["a", "b"], 4, seed=3))
