% two-tones.m - filter a signal of MATLAB or Octave with lapwing: a hum of 50 Hz stays, a whistle of 7000 Hz is removed.
%
% Start it in a folder with write permission, with lapwing on the path:   two-tones   or   octave two-tones.m
% It makes two-tones.h5, low-pass.h5 and the picture two-tones.svg.

rate = 44100;                                   % Hz
time = (0 : 2 * rate - 1)' / rate;              % two seconds
signal = sin(2 * pi * 50 * time) + sin(2 * pi * 7000 * time);

% ---- write the signal: MATLAB has h5create, Octave writes HDF5 by save. lapwing finds the single signal in either file.
if exist('two-tones.h5', 'file')
    delete('two-tones.h5');
end
if exist('h5create')
    h5create('two-tones.h5', '/signal', size(signal));
    h5write('two-tones.h5', '/signal', signal);
else
    save('-hdf5', 'two-tones.h5', 'signal');
end

% ---- run lapwing. To use several nodes or GPUs put 'mpirun -np 4 --bind-to none ' before the command.
command = ['lapwing ols --input two-tones.h5 --sample-rate 44.1kHz --lowpass 1kHz --boundary reflect ' ...
           '--output low-pass.h5 --overwrite'];
if system(command) ~= 0
    error('lapwing failed: see its message above');
end

% ---- read the result
if exist('h5read')
    filtered = h5read('low-pass.h5', '/filtered');
else
    result = load('low-pass.h5');
    filtered = result.filtered;
end
filtered = filtered(:);

amplitude = @(x, hz) 2 * abs(mean(x .* exp(-2i * pi * hz * time)));
fprintf('           50 Hz    7000 Hz\n');
fprintf('before   %7.4f   %8.6f\n', amplitude(signal, 50), amplitude(signal, 7000));
fprintf('after    %7.4f   %8.6f\n', amplitude(filtered, 50), amplitude(filtered, 7000));

% ---- draw three periods of the hum, before and after
shown = time < 0.06;
figure('visible', 'off', 'position', [0, 0, 800, 600]);
subplot(2, 1, 1);
plot(time(shown), signal(shown));
title('before: 50 Hz + 7000 Hz');
ylabel('signal');
subplot(2, 1, 2);
plot(time(shown), filtered(shown));
title('after lapwing ols --lowpass 1kHz');
xlabel('time (s)');
ylabel('filtered');
print('-dsvg', 'two-tones.svg');
