<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

use Sandlot\Exception\AgentException;
use Sandlot\Exception\StreamCutException;
use Sandlot\Http\DataPlane;
use Sandlot\Http\EnvelopeStream;
use Sandlot\Http\Repeat;
use Sandlot\Model\Fields;

/**
 * A process that you follow. The iteration returns its output as it comes, and ends with the process. The
 * process continues if you stop the iteration; Commands::attach() follows it again.
 *
 * @implements \IteratorAggregate<int, Output>
 */
final class Process implements \IteratorAggregate
{
    /** Bytes of one message to the process. */
    private const PIECE = 32 << 10;

    public readonly int $pid;
    private ?ProcessExit $exit = null;

    /** @internal */
    public function __construct(
        private readonly DataPlane $plane,
        private readonly EnvelopeStream $stream,
        private readonly bool $hasTerminal,
    ) {
        $start = $this->event()?->fields('start');
        $this->pid = $start?->int('pid') ?? throw new StreamCutException('The stream began with no process.');
    }

    /** @return \Generator<int, Output> */
    public function getIterator(): \Generator
    {
        while ($this->exit === null) {
            $event = $this->event();
            if ($event === null) {
                throw new StreamCutException("The stream of process {$this->pid} ended before it.");
            }
            $end = $event->fields('end');
            if ($end !== null) {
                $this->exit = ProcessExit::read($end);
                $this->event();
                return;
            }
            yield from self::outputs($event->fields('data'));
        }
    }

    /**
     * Waits until the process has ended, and returns its end.
     *
     * @param (callable(string): void)|null $onStdout gets the output of a terminal, too
     * @param (callable(string): void)|null $onStderr
     */
    public function wait(?callable $onStdout = null, ?callable $onStderr = null): ProcessExit
    {
        foreach ($this as $output) {
            $take = $output->kind === OutputKind::Stderr ? $onStderr : $onStdout;
            if ($take !== null) {
                $take($output->data);
            }
        }
        return $this->exit ?? throw new StreamCutException("Process {$this->pid} is not followed any more.");
    }

    /**
     * Writes to its standard input or its terminal. Read its output meanwhile: when about 1 MiB of output waits,
     * the process stops, and reads no more input.
     */
    public function write(string $data): void
    {
        $kind = $this->hasTerminal ? 'pty' : 'stdin';
        foreach (str_split($data, self::PIECE) as $piece) {
            $this->tell('SendInput', ['input' => [$kind => base64_encode($piece)]]);
        }
    }

    /** Ends its standard input. */
    public function closeStdin(): void
    {
        $this->tell('CloseStdin');
    }

    public function resize(TerminalSize $size): void
    {
        $this->tell('Update', ['pty' => $size->message()]);
    }

    /** Sends a signal. Returns false if the process has ended. */
    public function signal(Signal $signal): bool
    {
        try {
            $this->tell('SendSignal', ['signal' => $signal->value]);
            return true;
        } catch (AgentException $refusal) {
            return $refusal->isNotFound() ? false : throw $refusal;
        }
    }

    public function kill(): bool
    {
        return $this->signal(Signal::Kill);
    }

    /** Stops following the process, which continues. */
    public function detach(): void
    {
        $this->stream->close();
    }

    /** @param array<string, mixed> $message */
    private function tell(string $method, array $message = []): void
    {
        $message = ['process' => ['pid' => $this->pid], ...$message];
        $this->plane->call("process.Process/{$method}", $message, Repeat::IfNotCarriedOut);
    }

    private function event(): ?Fields
    {
        do {
            $event = $this->stream->next()?->fields('event');
        } while ($event?->fields('keepalive') !== null);
        return $event;
    }

    /** @return \Generator<int, Output> */
    private static function outputs(?Fields $data): \Generator
    {
        foreach (OutputKind::cases() as $kind) {
            $text = $data?->stringOrNull($kind->value);
            if ($text !== null) {
                yield new Output($kind, (string) base64_decode($text, true));
            }
        }
    }
}
