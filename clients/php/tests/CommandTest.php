<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use Sandlot\Command\OutputKind;
use Sandlot\Command\Signal;
use Sandlot\Command\TerminalSize;
use Sandlot\Exception\AgentException;
use Sandlot\Exception\CommandFailedException;

final class CommandTest extends ServiceTestCase
{
    public function testACommandToItsEnd(): void
    {
        $line = 'echo $GREETING $NAME; pwd; echo oops >&2; exit 3';
        $result = self::sandbox()->commands->run($line, envs: ['NAME' => 'you'], cwd: '/tmp');
        $this->assertSame(["hello you\n/tmp\n", "oops\n", 3], [$result->stdout, $result->stderr, $result->exitCode]);
        $this->assertFalse($result->succeeded());
        $this->expectException(CommandFailedException::class);
        $this->expectExceptionMessage('exited with 3: oops');
        $result->orFail();
    }

    public function testOutputThatIsCutIsNoSuccess(): void
    {
        $result = self::sandbox()->commands->run('head -c 1048577 /dev/zero | tr "\\0" x');
        $this->assertSame([true, 0, 1 << 20], [$result->truncated, $result->exitCode, strlen($result->stdout)]);
        $this->expectException(CommandFailedException::class);
        $this->expectExceptionMessage('more than 1 MiB');
        $result->orFail();
    }

    public function testNoShellReadsAList(): void
    {
        $result = self::sandbox()->commands->run(['printf', '%s', '$(id) `id` ; id']);
        $this->assertSame('$(id) `id` ; id', $result->orFail()->stdout);
    }

    public function testBytesAndStandardInput(): void
    {
        $bytes = implode(array_map(chr(...), range(0, 255)));
        $this->assertSame($bytes, self::sandbox()->commands->run('cat', stdin: $bytes)->stdout);
        $this->assertSame("root\n", self::sandbox()->commands->run('whoami', user: 'root')->stdout);
    }

    public function testTheTimeLimit(): void
    {
        foreach ([null, static fn () => null] as $onStdout) {
            $result = self::sandbox()->commands->run('sleep 60', timeout: 0.3, onStdout: $onStdout);
            $this->assertTrue($result->timedOut);
            $this->assertSame([137, 'SIGKILL'], [$result->exitCode, $result->signal]);
        }
    }

    public function testOutputAsItComes(): void
    {
        $said = ['', ''];
        $result = self::sandbox()->commands->run(
            'read line; echo got $line; echo aside >&2; exit 4',
            stdin: "input\n",
            onStdout: static function (string $text) use (&$said): void {
                $said[0] .= $text;
            },
            onStderr: static function (string $text) use (&$said): void {
                $said[1] .= $text;
            },
        );
        $this->assertSame(["got input\n", "aside\n"], $said);
        $this->assertSame(4, $result->exitCode);
    }

    public function testAProgramThatAnswersWhileItReads(): void
    {
        $length = 0;
        $input = str_repeat("a line of input\n", 100_000);
        $count = static function (string $text) use (&$length): void {
            $length += strlen($text);
        };
        $result = self::sandbox()->commands->run('cat', stdin: $input, onStdout: $count);
        $this->assertSame([strlen($input), 0], [$length, $result->exitCode]);
    }

    public function testTheTimeLimitOfAProcess(): void
    {
        try {
            self::sandbox()->commands->start(['sleep', '60'], timeout: 0.3)->wait();
            $this->fail('it went on');
        } catch (AgentException $failure) {
            $this->assertSame('deadline_exceeded', $failure->reason);
        }
    }

    public function testWhatACallbackThrowsEndsTheCommand(): void
    {
        try {
            $refuse = static fn () => throw new \DomainException('enough');
            self::sandbox()->commands->run('echo begun; exec sleep 7654', onStdout: $refuse);
            $this->fail('it went on');
        } catch (\DomainException) {
            $line = 'for i in $(seq 100); do pgrep -f "^sleep 765[4]" >/dev/null || exit 0; sleep 0.1; done; exit 1';
            $this->assertTrue(self::sandbox()->commands->run($line)->succeeded(), 'it still runs');
        }
    }

    public function testAConversation(): void
    {
        $process = self::sandbox()->commands->start('while read line; do echo "<$line>"; done; echo end', stdin: true);
        $process->write("one\n");
        foreach ($process as $output) {
            $this->assertSame([OutputKind::Stdout, "<one>\n"], [$output->kind, $output->data]);
            break;
        }
        $process->write("two\n");
        $process->closeStdin();
        $rest = '';
        $exit = $process->wait(onStdout: static function (string $text) use (&$rest): void {
            $rest .= $text;
        });
        $this->assertSame(["<two>\nend\n", 0, null], [$rest, $exit->exitCode, $exit->signal]);
    }

    public function testMuchOutputIsStreamed(): void
    {
        $length = 0;
        $peak = memory_get_usage();
        foreach (self::sandbox()->commands->start(['head', '-c', '40000000', '/dev/zero']) as $output) {
            $length += strlen($output->data);
            $peak = max($peak, memory_get_usage());
        }
        $this->assertSame(40_000_000, $length);
        $this->assertLessThan(20_000_000, $peak - memory_get_usage());
    }

    public function testOutputThatNobodyTakesWaits(): void
    {
        $before = memory_get_usage();
        $process = self::sandbox()->commands->start(['head', '-c', '30000000', '/dev/zero']);
        for ($i = 0; $i < 100; $i++) {
            self::sandbox()->files->exists('other requests move it on');
        }
        $this->assertLessThan(8 << 20, memory_get_usage() - $before);
        $length = 0;
        $exit = $process->wait(static function (string $text) use (&$length): void {
            $length += strlen($text);
        });
        $this->assertSame([30_000_000, 0], [$length, $exit->exitCode]);
    }

    public function testSignalsAndAttach(): void
    {
        $commands = self::sandbox()->commands;
        $first = $commands->start(['sleep', '600'], tag: 'sleeper');
        $listed = array_column($commands->list(), null, 'pid')[$first->pid];
        $this->assertSame(['sleep', ['600'], 'sleeper'], [$listed->program, $listed->arguments, $listed->tag]);
        $first->detach();
        $again = $commands->attach('sleeper');
        $this->assertSame($first->pid, $again->pid);
        $this->assertTrue($again->signal(Signal::Terminate));
        $exit = $again->wait();
        $this->assertSame([143, 'SIGTERM'], [$exit->exitCode, $exit->signal]);
        $this->assertFalse($again->kill());
    }

    public function testATerminal(): void
    {
        $size = new TerminalSize(columns: 101, rows: 7);
        $process = self::sandbox()->commands->start(['bash', '--norc'], terminal: $size, envs: ['PS1' => '']);
        $process->resize(new TerminalSize(columns: 99, rows: 8));
        $process->write("stty size; exit 5\n");
        $shown = '';
        $exit = $process->wait(onStdout: static function (string $text) use (&$shown): void {
            $shown .= $text;
        });
        $this->assertStringContainsString("8 99\r\n", $shown);
        $this->assertSame(5, $exit->exitCode);
    }

    public function testAProgramThatIsNotThere(): void
    {
        $this->expectException(AgentException::class);
        self::sandbox()->commands->start(['no-such-program']);
    }
}
