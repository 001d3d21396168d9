<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum TemplateStepType: string
{
    case Run = 'run';
    case Copy = 'copy';
    case Env = 'env';
    case Workdir = 'workdir';
    case User = 'user';
}
