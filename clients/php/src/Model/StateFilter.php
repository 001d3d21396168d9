<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum StateFilter: string
{
    case Creating = 'creating';
    case Ready = 'ready';
    case Restoring = 'restoring';
    case Checkpointing = 'checkpointing';
    case Stopping = 'stopping';
    case Stopped = 'stopped';
    case Copying = 'copying';
    case Running = 'running';
    case Paused = 'paused';
}
