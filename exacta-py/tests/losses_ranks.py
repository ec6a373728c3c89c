"""What each process of a group checks; run by `test_losses_distributed`."""

import os
import sys
from pathlib import Path

import torch
from torch import distributed, nn

from exacta import losses

CASES = [
    (losses.DiceLoss, {}),
    (losses.DiceLoss, {"squared_pred": True, "include_background": False, "smooth": 0.5}),
    (losses.TverskyLoss, {"alpha": 0.3, "beta": 0.7, "class_weight": [0.5, 1, 2]}),
    (losses.FocalTverskyLoss, {}),
    (losses.GeneralizedDiceLoss, {"weight_type": "simple"}),
    (losses.FocalLoss, {}),
    (losses.FocalLoss, {"activation": "sigmoid", "gamma": 1.5, "alpha": 0.3}),
    (losses.DiceCELoss, {"class_weight": [0.2, 1, 2]}),
    (losses.GeneralizedDiceCELoss, {"lambda_ce": 0.3}),
    (losses.DiceFocalLoss, {"alpha": 0.3}),
]


def build(kind, options, backend, distributed_):
    more = {} if kind is losses.FocalLoss else {"batch_dice": True}
    return kind(**options, **more, backend=backend, distributed=distributed_, ignore_index=-1)


def close(found, wanted, what):
    if not torch.allclose(found, wanted, rtol=1e-11, atol=1e-13, equal_nan=True):
        raise AssertionError(f"{what}: {found} against {wanted}")


def batches(ranks, empty, ignored):
    """Parts of a batch for each process: of different sizes, one without a case, one without a voxel that counts."""
    generator = torch.Generator().manual_seed(ranks)
    parts = []
    for rank in range(ranks):
        size = 0 if rank == empty else rank + 1
        logits = torch.randn(size, 3, 4, 5, generator=generator, dtype=torch.float64)
        labels = torch.randint(0, 3, (size, 4, 5), generator=generator)
        if rank == ignored:
            labels[:] = -1
        mask = torch.rand(size, 4, 5, generator=generator) < 0.7
        parts.append((logits, labels, mask))
    return parts


def check_sums(rank, ranks, backend):
    for empty, ignored in ((None, None), (0, None), (None, ranks - 1), (0, ranks - 1), (None, "all")):
        parts = batches(ranks, empty, ignored)
        if ignored == "all":
            parts = [(x, torch.full_like(y, -1), m) for x, y, m in parts]
        whole = [torch.cat(tensors) for tensors in zip(*parts, strict=True)]
        for kind, options in CASES:
            for masked in (False, True):
                what = f"{kind.__name__} {options} {backend} empty {empty} ignored {ignored} masked {masked}"
                x, y, mask = (tensor.clone() for tensor in parts[rank])
                z = whole[0].clone().requires_grad_()
                wanted = build(kind, options, "torch", False)(z, whole[1], mask=whole[2] if masked else None)
                wanted.backward()
                x.requires_grad_()
                found = build(kind, options, backend, True)(x, y, mask=mask if masked else None)
                found.backward()
                close(found.detach(), wanted.detach(), what)
                start = sum(len(part[0]) for part in parts[:rank])
                close(x.grad, ranks * z.grad[start : start + len(x)], what + ", gradient")


def check_no_voxel_anywhere(backend):
    for kind, options in CASES:
        if options.get("smooth") or kind is losses.GeneralizedDiceLoss:
            continue
        more = {} if kind is losses.FocalLoss else {"smooth": 0}
        x = torch.empty(0, 3, 4, 5, dtype=torch.float64, requires_grad=True)
        loss = build(kind, {**options, **more}, backend, True)
        loss.ignore_index = None
        value = loss(x, torch.empty(0, 4, 5, dtype=torch.int64))
        value.backward()
        close(value.detach(), torch.zeros((), dtype=torch.float64), f"{kind.__name__} {backend} of nothing")


def check_bad_label(rank, backend):
    """A label that is no class is an error on every process, so that none waits for the others."""
    x = torch.zeros(1, 3, 4, dtype=torch.float64, requires_grad=True)
    y = torch.full((1, 4), 7 if rank == 0 else 1)
    try:
        losses.DiceCELoss(batch_dice=True, distributed=True, backend=backend)(x, y)
    except ValueError as error:
        if "target must hold labels" not in str(error) and "target" not in str(error):
            raise
    else:
        raise AssertionError("a bad label of another process went through")


def check_model(rank, ranks, backend, compiled):
    """DDP's average of the gradients, eager or of a compiled step, is the gradient of the whole batch."""
    parts = batches(ranks, None, None if compiled else ranks - 1)
    whole = [torch.cat(tensors) for tensors in zip(*parts, strict=True)]
    torch.manual_seed(0)
    model = nn.Conv2d(3, 3, 3, padding=1).double()
    alone = nn.Conv2d(3, 3, 3, padding=1).double()
    alone.load_state_dict(model.state_dict())
    build(losses.DiceCELoss, {}, "torch", False)(alone(whole[0]), whole[1]).backward()
    parallel = nn.parallel.DistributedDataParallel(model)
    loss = build(losses.DiceCELoss, {}, backend, True)
    torch._dynamo.reset()
    program = torch.compile(lambda x, y: loss(parallel(x), y), backend="aot_eager", disable=not compiled)
    program(parts[rank][0], parts[rank][1]).backward()
    for name, parameter in model.named_parameters():
        what = f"{backend} DDP {name}{', compiled' if compiled else ''}"
        close(parameter.grad, dict(alone.named_parameters())[name].grad, what)


def check_compiled(rank, ranks, backend):
    """Sums over processes inside compiled programs: what eager mode gives, values and gradients."""
    for kind, options in CASES[7:8] + CASES[9:]:
        torch._dynamo.reset()
        parts = batches(ranks, None, None)
        logits, labels, mask = parts[rank]
        loss = build(kind, options, backend, True)
        results = []
        for program in (loss, torch.compile(loss, backend="aot_eager")):
            leaf = logits.clone().requires_grad_()
            value = program(leaf * 2, labels, mask=mask)
            value.backward()
            results.append((value.detach(), leaf.grad))
        for (wanted, found), what in zip(zip(*results, strict=True), ("value", "gradient"), strict=True):
            close(found, wanted, f"{kind.__name__} {options} {backend} compiled, {what}")


def main():
    rank, ranks, store = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for backend in ("torch", "auto"):
        check_sums(rank, ranks, backend)
        check_no_voxel_anywhere(backend)
        check_bad_label(rank, backend)
        check_model(rank, ranks, backend, False)
        if ranks == 2:
            check_compiled(rank, ranks, backend)
            check_model(rank, ranks, backend, True)
    distributed.barrier()
    distributed.destroy_process_group()
    sys.stdout.flush()
    # Threads of PyTorch can outlive the group and abort an ordinary exit; all that was to be checked was.
    os._exit(0)


if __name__ == "__main__":
    main()
